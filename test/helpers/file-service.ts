import { createHash } from 'node:crypto'
import a2a from '@svc/a2a'
import http from '@svc/http'
import registry from '@svc/registry'
import { Agent, defineTool, toolContent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { Type } from '@sinclair/typebox'
import store from '@svc/store'
import Fastify from 'fastify'

// A service on a database, which logs its address. Its agent answers with the hashes of the files that its model gets, or with
// `hold` never; `keep` keeps the files of clients.
const [, , url = '', ...flags] = process.argv

const eye = new Agent({
  name: 'eye',
  model: scriptedModel(({ prompt }) => {
    if (!flags.includes('hold')) return hashesOf(prompt)
    app.log.info('the model is asked')
    return { hangs: 'call' }
  })
})
const painter = new Agent({
  name: 'painter',
  model: scriptedModel(({ prompt }, index) => {
    const bytes = Number(/(\d+) bytes/.exec(JSON.stringify(prompt.at(-1)))?.[1])
    return index % 2 === 0 ? { toolCalls: [{ toolName: 'paint', args: { bytes } }] } : 'Painted.'
  }),
  tools: [
    defineTool({
      name: 'paint',
      description: 'Makes a file',
      input: Type.Object({ bytes: Type.Integer() }),
      execute: ({ bytes }) =>
        toolContent([{ type: 'file', mimeType: 'a/b', data: Buffer.alloc(bytes).toString('base64') }])
    })
  ]
})

function hashesOf(prompt: readonly { content: string | readonly object[] }[]): string {
  const parts = prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  return parts.flatMap(hashOf).join(' ')
}

function hashOf(part: { type?: string; data?: { data?: string } }): string[] {
  if (part.type !== 'file') return []
  const bytes = Buffer.from(part.data?.data ?? '', 'base64')
  return [createHash('sha256').update(bytes).digest('hex')]
}

const app = Fastify({ logger: true, bodyLimit: 16_777_216 })
await app.register(store, { url })
await app.register(registry, { record: { files: flags.includes('keep') } })
await app.register(http, { prefix: '/api', fileUpload: true, agents: [eye, painter] })
await app.register(a2a, { basePath: '/a2a', agents: [eye], defaultInputModes: ['*/*'] })
await app.listen({ port: 0, host: '127.0.0.1' })
