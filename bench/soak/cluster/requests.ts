/** What a node answered. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- what is in it depends on the request
  readonly body: any
}

/** Sends JSON to a node, as an owner or anonymously. */
export async function post(
  url: string,
  path: string,
  body: object,
  owner?: string,
  more = {}
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    ...(owner !== undefined && { authorization: `Bearer ${owner}` }),
    ...more
  }
  return answerOf(await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }))
}

/** Reads JSON or a text from a node. */
export async function get(url: string, path: string, owner?: string): Promise<Answer> {
  const headers = { ...(owner !== undefined && { authorization: `Bearer ${owner}` }) }
  return answerOf(await fetch(url + path, { headers }))
}

/** Starts a run that continues without its client; gives its id. */
export async function startOn(url: string, path: string, input = 'Go.', owner?: string): Promise<string> {
  const { status, body } = await post(url, `/api/${path}/run`, { input }, owner, { prefer: 'respond-async' })
  if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.runId as string
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response
  const text = await response.text()
  return { status, headers, body: text.startsWith('{') ? JSON.parse(text) : text }
}
