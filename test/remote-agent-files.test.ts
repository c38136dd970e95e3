import a2a, { remoteAgent } from '@svc/a2a'
import { createRunEngine, type RunInput } from '@svc/registry'
import { Team, Workflow } from '@svc/runtime'
import Fastify from 'fastify'
import t from 'tap'

const INPUT: RunInput = [
  { type: 'text', text: 'What is it?' },
  { type: 'image', mimeType: 'image/png', data: 'aGk=', filename: 'a.png' },
  { type: 'file', mimeType: 'text/plain', url: 'https://example.org/a' }
]

for (const version of ['1.0', '0.3'] as const)
  for (const binding of ['JSONRPC', 'HTTP+JSON'])
    t.test(`files reach a remote member and a remote step, ${version} over ${binding}`, async (t) => {
      const given: unknown[] = []
      const eye = {
        kind: 'agent' as const,
        name: 'eye',
        run(input: RunInput) {
          given.push(input)
          return 'seen'
        }
      }
      const app = Fastify({ forceCloseConnections: true })
      t.teardown(() => app.close())
      await app.register(a2a, { versions: [version], defaultInputModes: ['*/*'], agents: [eye] })
      const url = await app.listen({ port: 0, host: '127.0.0.1' })
      const far = remoteAgent({ url, name: 'far', binding })
      const engine = createRunEngine()
      t.teardown(() => engine.close())
      const team = new Team({ name: 'team', mode: 'sequence', members: [far], register: false })
      const flow = new Workflow({ name: 'flow', steps: (flow) => flow.step('look', far), register: false })
      for (const runnable of [far, team, flow]) await (await engine.start(runnable, INPUT)).result()
      t.same(given, [INPUT, INPUT, INPUT])
    })
