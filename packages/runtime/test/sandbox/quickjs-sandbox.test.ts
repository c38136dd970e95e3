import { quickJsSandbox } from '@svc/runtime'
import { sandboxContract } from '@svc/runtime/testing'
import t from 'tap'

sandboxContract(t, () => quickJsSandbox({ bubblewrap: 'off' }))
