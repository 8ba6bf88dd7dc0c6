/** The settings, from the environment and `.env`. */
export { readProcessConfiguration } from '../../adapters/config/process-configuration.ts'
export { readConfiguration } from '../../adapters/config/read-configuration.ts'
