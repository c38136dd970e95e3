import { writeSync } from 'node:fs'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import { consoleApp } from './console-app.ts'

// A service with a console on one database file; it prints its port and runs until it is killed. With `hangs` its model does not come to an end.
const [, , url = '', port = '0', hangs] = process.argv
const { app } = await consoleApp(
  { teardown: () => undefined },
  {
    port: Number(port),
    before: async (scope) => scope.register(store, { url }),
    add: (registry) =>
      new Agent({
        name: 'support',
        registry,
        model: scriptedModel(
          hangs === undefined ? 'one two three' : { text: ['one ', 'two'], hangs: 'stream' }
        )
      })
  }
)
writeSync(1, `${(app.server.address() as { port: number }).port}\n`)
