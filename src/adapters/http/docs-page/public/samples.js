import { curlSample } from './sample-curl.js'
import { phpSample } from './sample-php.js'
import { pythonSample } from './sample-python.js'
import { typescriptSample } from './sample-typescript.js'

/** The languages of samples: each returns a request of `createRequest` as a program. Pure. */
export const SAMPLES = {
  curl: curlSample,
  TypeScript: typescriptSample,
  Python: pythonSample,
  PHP: phpSample,
}
