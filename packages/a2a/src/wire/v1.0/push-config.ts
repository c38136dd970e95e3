import type { TaskPushConfig } from '../../model/push.ts'
import { defined } from '../fields.ts'

interface WirePushConfig {
  id?: string | undefined
  url: string
  token?: string | undefined
  authentication?: { scheme: string; credentials?: string | undefined } | undefined
}

/** Decodes a configuration, except for its task. */
export function decodePushConfig({ id, url, token, authentication }: WirePushConfig) {
  const auth = authentication && {
    schemes: [authentication.scheme],
    ...defined({ credentials: authentication.credentials })
  }
  return { url, ...defined({ id, token, authentication: auth }) }
}

export function encodePushConfig({ authentication, ...config }: TaskPushConfig): object {
  const { schemes = [], credentials } = authentication ?? {}
  return {
    ...config,
    ...(authentication && { authentication: { scheme: schemes[0] ?? '', credentials } })
  }
}
