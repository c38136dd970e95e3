/** The path where clients of OpenAI's API call, that of Realtime among them. */
export const OPENAI = '/v1'
/** The path where clients of Anthropic's Managed Agents API call. */
export const MANAGED = '/managed'
/** Where the shop is, which the scout browses. */
export const SHOP = '/shop'
/** Where the console calls the phone. */
export const PHONE = '#/talk/agent/phone'

/** The address by which clients reach a service: a wildcard such as `0.0.0.0` becomes `localhost`. */
export function addressOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `localhost:${port}`
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The URL of a database, to be shown. */
export function withoutPassword(url: string): string {
  const shown = new URL(url)
  shown.password = ''
  return shown.href
}
