import { describe, it } from '@jest/globals'
import { declareSuites } from './suites.js'

declareSuites({ describe, it })
