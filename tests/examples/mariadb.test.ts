import { isInstalled } from '../support/balancer.ts'
import { testStoreExample } from '../support/example.ts'

const missing = isInstalled('mariadbd', '--version') ? null : 'mariadb-server is not installed'
const problem = missing ?? (process.env.TEST_LONG ? null : 'it takes over a minute: TEST_LONG=1 runs it')

testStoreExample({
  title: 'The service on MariaDB',
  name: 'mariadb',
  skip: problem !== null && `MARIADB WAS NOT TESTED: ${problem}`,
  passing: 150,
})
