export { zxcvbnPasswordBlocklist } from '../../adapters/zxcvbn/password-blocklist.ts'
