export { systemClock } from '../../adapters/system-clock/clock.ts'
