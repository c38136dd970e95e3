import type { Refusal } from '../../../src/browser.ts'
import type { Channel } from './channel.ts'
import { MARKUP_CHANNELS } from './markup-channels.ts'
import { SCRIPT_CHANNELS } from './script-channels.ts'
import { TAB_CHANNELS } from './tab-channels.ts'
import { openGround, type Guard } from './ground.ts'
import { openSecret, type Secret } from './secret.ts'
import { openSite } from './site.ts'

export const CHANNELS = [...MARKUP_CHANNELS, ...SCRIPT_CHANNELS, ...TAB_CHANNELS]

/** Channels that Chromium has not, or only with a window or a permission: nothing is shown by their silence. */
export const UNREAL: ReadonlySet<string> = new Set([
  'address-metadata',
  'attribution-source',
  'background-fetch',
  'fetch-later',
  'iframe-fenced',
  'link-dns-prefetch',
  'link-icon',
  'link-manifest',
  'link-preconnect',
  'link-prerender',
  'media-artwork',
  'notification-icon',
  'payment-manifest',
  'presentation',
  'related-origins',
  'reporting-api',
  'shared-storage',
  'svg-use',
  'web-install',
  'xslt'
])

/** Channels of which nothing is seen if they fail: no refusal, and no end of a script. */
const SILENT: ReadonlySet<string> = new Set([
  'blank-document',
  'speculation-prefetch',
  'speculation-prerender'
])

/** What came of an attack. */
export interface Outcome {
  /** Names of channels that reached a secret server. */
  readonly reached: readonly string[]
  readonly counts: Secret['counts']
  /** What the proxy refused. */
  readonly blocked: readonly Refusal[]
  /** Names of channels that were tried for certain: refused by the proxy, or ended by their script. */
  readonly tried: ReadonlySet<string>
}

/** Tries all channels, until each has reached its server or has been tried, at most for some milliseconds. */
export async function attack(guard: Guard, deadline: number): Promise<Outcome> {
  const blocked: Refusal[] = []
  const secret = await openSecret(CHANNELS)
  const site = await openSite(CHANNELS, secret.target)
  const ground = await openGround(guard, site.origin, (refusal) => blocked.push(refusal))
  const hostOf = (channel: Channel) =>
    new URL(secret.target(channel, site.origin).url).host.replace('.:', ':')
  const tried = () => {
    const hosts = new Set(blocked.map(({ host }) => host))
    return new Set([
      ...site.settled,
      ...CHANNELS.flatMap((each) => (hosts.has(hostOf(each)) ? [each.name] : []))
    ])
  }
  const expected = CHANNELS.filter(({ name }) => !UNREAL.has(name) && !(guard === 'desk' && SILENT.has(name)))
  try {
    const late = AbortSignal.timeout(deadline)
    await ground.open(site.pages)
    while (!late.aborted) {
      const done = guard === 'desk' ? tried() : secret.reached
      if (expected.every(({ name }) => done.has(name))) break
      await Promise.race([secret.next(), site.next(), new Promise((resolve) => setTimeout(resolve, 100))])
    }
  } finally {
    await ground.close()
    await site.close()
  }
  const outcome = { reached: [...secret.reached], counts: { ...secret.counts }, blocked, tried: tried() }
  await secret.close()
  return outcome
}
