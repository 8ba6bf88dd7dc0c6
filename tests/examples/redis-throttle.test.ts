import { isInstalled } from '../support/balancer.ts'
import { testStoreExample } from '../support/example.ts'

testStoreExample({
  title: 'The throttle in Redis',
  name: 'redis-throttle',
  skip: !isInstalled('redis-server', '--version') && 'REDIS WAS NOT TESTED: redis-server is not installed',
  passing: 40,
  // Its test of a `Database` wraps the one in memory.
  mayBeSkipped: ['Only one process may open it.'],
})
