import http, { uploadPlugin } from '@svc/http'
import Fastify from 'fastify'
import t from 'tap'
import { echo } from '../helpers/build-app.ts'
import { resolveUploadLimits } from '../../src/uploads/read-uploads.ts'

t.test('the defaults', async (t) => {
  const defaults = { maxFileSize: 52_428_800, maxFiles: 10, maxTotalSize: 524_288_000 }
  for (const given of [undefined, true, {}] as const) t.match(resolveUploadLimits(given), defaults)
  t.match(resolveUploadLimits({ maxFileSize: 5, maxFiles: 3 }), { maxTotalSize: 15 })
  t.match(resolveUploadLimits({ maxTotalSize: 7 }), { ...defaults, maxTotalSize: 7 })
})

t.test('options are not mutated', async (t) => {
  const options = Object.freeze({ allowedMimeTypes: Object.freeze(['Image/PNG']) as string[] })
  t.strictSame(resolveUploadLimits(options).allowedMimeTypes, ['image/png'])
})

t.test('unknown and invalid options are named at start', async (t) => {
  const bad: [options: object, says: string][] = [
    [{ maxSize: 1 }, 'maxSize'],
    [{ maxFileSize: 0 }, 'maxFileSize'],
    [{ maxFileSize: '5mb' }, 'maxFileSize'],
    [{ maxFiles: 1.5 }, 'maxFiles'],
    [{ maxTotalSize: -1 }, 'maxTotalSize'],
    [{ allowedMimeTypes: [] }, 'allowedMimeTypes'],
    [{ allowedMimeTypes: 'image/png' }, 'allowedMimeTypes'],
    [{ allowedMimeTypes: ['image'] }, 'allowedMimeTypes/0'],
    [{ allowedMimeTypes: ['image/png; q=1'] }, 'allowedMimeTypes/0']
  ]
  for (const [options, says] of bad) {
    const expected = { code: 'HTTP_ERR_BAD_OPTION', message: new RegExp(`\\b${says}\\b`) }
    t.throws(() => uploadPlugin(options), expected, says)
    const registering = async () => Fastify().register(http, { fileUpload: options })
    await t.rejects(registering, { ...expected, message: new RegExp(`: fileUpload/${says}: `) }, says)
  }
  for (const fileUpload of [null, 'yes', 1] as never[]) {
    await t.rejects(async () => Fastify().register(http, { fileUpload }), { code: 'HTTP_ERR_BAD_OPTION' })
  }
})

t.test('false: no forms', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(http, { prefix: '/api', agents: [echo], fileUpload: false })
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const reply = await app.inject({ method: 'POST', url: '/api/agents/echo/run', headers, payload: '--x--' })
  t.match(reply.json(), { statusCode: 415, code: 'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE' })
})
