import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { buildUploadApp, formOf } from '../helpers/upload-app.ts'

/** What an HTTP client throws: the request that failed is a part of the error. */
const leaky = () =>
  Object.assign(new Error('Request failed with status code 401'), {
    config: { headers: { Authorization: 'Bearer s3cret-of-the-service' } }
  })

/** A stream for the log of an app, and the line in which a message stands, once it is there. */
function logStream() {
  const lines: string[] = []
  let onLine = () => {}
  return {
    logger: {
      level: 'trace',
      stream: {
        write(line: string) {
          lines.push(line)
          onLine()
        }
      }
    },
    async lineWith(message: string): Promise<string> {
      for (;;) {
        const line = lines.find((each) => each.includes(message))
        if (line !== undefined) return line
        await new Promise<void>((resolve) => (onLine = resolve))
      }
    }
  }
}

t.test('a run that cannot be canceled: the log has the error without client data', async (t) => {
  const { logger, lineWith } = logStream()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const runnable = scriptedRunnable([begin as () => void, 60_000])
  const { runs, post } = await buildApp(t, { runnables: [runnable], fastify: { logger } })
  const start = runs.start.bind(runs)
  t.intercept(runs, 'start', {
    value: async (...args: Parameters<typeof start>) => {
      const run = await start(...args)
      return Object.assign(run, { cancel: () => Promise.reject(leaky()) })
    }
  })
  const client = new AbortController()
  const left = post('/agents/scripted/run', { input: 'x' }, {}, client.signal).catch(() => {})
  await begun
  client.abort()
  await left
  const line = await lineWith('the run could not be canceled')
  t.match(line, 'Request failed with status code 401')
  t.notMatch(line, 's3cret')
})

t.test('files that cannot be removed: the log has the error only', async (t) => {
  const { logger, lineWith } = logStream()
  const { upload } = await buildUploadApp(t, {}, { fastify: { logger } })
  const { rm } = promises
  const restore = () => {
    promises.rm = rm
    syncBuiltinESMExports()
  }
  t.teardown(restore)
  promises.rm = () => Promise.reject(leaky())
  syncBuiltinESMExports()
  t.equal((await upload(formOf({}, ['content', 'text/plain', 'a.txt']))).status, 200)
  const line = await lineWith('uploaded files could not be removed')
  restore()
  t.match(line, 'Request failed with status code 401')
  t.notMatch(line, 's3cret')
})
