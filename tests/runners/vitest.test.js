import { describe, it } from 'vitest'
import { declareSuites } from './suites.js'

declareSuites({ describe, it })
