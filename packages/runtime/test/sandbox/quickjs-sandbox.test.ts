import { quickJsSandbox } from '@svc/runtime'
import { sandboxContract } from '@svc/runtime/testing'
import t from 'tap'
import { hasBubblewrap } from '../../src/sandbox/child-command.ts'

sandboxContract(t, () => quickJsSandbox({ bubblewrap: 'off' }))

const skip = hasBubblewrap() ? false : 'bubblewrap does not work here'
t.test('inside bubblewrap', { skip }, async (t) => {
  t.match(quickJsSandbox({ bubblewrap: 'required' }).describe(), { confined: true })
  sandboxContract(t, () => quickJsSandbox({ bubblewrap: 'required' }))
})
