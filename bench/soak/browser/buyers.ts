import { BrowserAgent, type Browser } from '@svc/browser'
import { scriptedModel, type Script } from '@svc/runtime/testing'

/** What becomes of a run, whatever the others do. */
export const ENDS = [
  'completes',
  'is canceled',
  'throws',
  'times out',
  'page crashes',
  'browser is killed'
] as const
export type End = (typeof ENDS)[number]
/** The page that the agents use. */
export const PAGE = `<!doctype html><title>Shop</title><h1>Shop</h1><button onclick="document.body.append('bought')">Buy</button>
  <script>document.cookie = 'seen=1'; localStorage.setItem('seen', 1)</script><input type="password" value="secret">`

const act = (action: string, args: object) => ({ toolCalls: [{ toolName: `browser_${action}`, args }] })

/** An agent for each end; those whose runs something else ends are the same one. */
export function createAgents(browser: Browser, host: string): Record<End, BrowserAgent> {
  const open = act('open', { url: `http://${host}/` })
  const make = (name: string, script: Script, run = 60_000) =>
    new BrowserAgent({
      name,
      register: false,
      model: scriptedModel(script, { record: false }),
      allow: [],
      privateHosts: [host],
      browser,
      timeout: { action: 2_000, navigation: 10_000, run }
    })
  const patient = make('patient', (call) => {
    const results = resultsOf(call)
    if (results.length === 6) return 'Bought.'
    // After a crash there is no page.
    const ref = /button \\*"Buy\\*"[^\n]*?\[ref=(\w+)\]/.exec(results.at(-1) ?? '')?.[1]
    return ref === undefined ? open : act('click', { ref })
  })
  return {
    completes: patient,
    'is canceled': patient,
    throws: make('thrower', (call) =>
      resultsOf(call).length === 0 ? open : { rejects: new Error('The model is broken') }
    ),
    'times out': make(
      'waiter',
      (call) => (resultsOf(call).length === 0 ? open : act('wait', { text: 'never' })),
      1_500
    ),
    'page crashes': patient,
    'browser is killed': patient
  }
}

/** The results of the calls so far. */
function resultsOf({ prompt }: Call): string[] {
  return prompt.flatMap(({ role, content }) => (role === 'tool' ? [JSON.stringify(content)] : []))
}

type Call = Parameters<Extract<Script, (...args: never) => unknown>>[0]
