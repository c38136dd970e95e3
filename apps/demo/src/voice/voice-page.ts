import { resolve } from 'node:path'
import files from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** Where the page is in the app. */
export const VOICE = '/voice'
const FOLDER = resolve(import.meta.dirname, '../../page')
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'permissions-policy': 'microphone=(self)',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache'
}

/** What the page is to know. */
export interface VoicePageOptions {
  /** The voice agent that it calls. */
  readonly model: string
  /** The path of the Realtime API. */
  readonly base: string
  /** Whether the service asks for a token. */
  readonly needsToken: boolean
  /** What can be said; empty if that is anything. */
  readonly phrases: readonly string[]
  /** Why there are no calls. */
  readonly missing?: string | undefined
}

/** Serves the page with the microphone: plain files, and `config.json`. */
export async function voicePage(
  app: FastifyInstance,
  { model, base, needsToken, phrases, missing }: VoicePageOptions
): Promise<void> {
  const config = { model, base, needsToken, phrases, missing }
  app.addHook('onRequest', async (_request, reply) => void reply.headers(HEADERS))
  app.get('/config.json', (_request, reply) => reply.send(config))
  app.get('', (_request, reply) => reply.redirect(`${app.prefix}/`))
  await app.register(files, {
    root: FOLDER,
    cacheControl: false,
    decorateReply: false,
    allowedPath: (path) => !/(?:\.json|\.d\.ts)$/.test(path)
  })
}
