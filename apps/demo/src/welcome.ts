import { join, resolve } from 'node:path'
import type { RunSummary } from '@svc/registry'
import { addressOf, MANAGED, OPENAI, PHONE, SHOP, withoutPassword } from './address.ts'
import type { DemoRole } from './auth/demo-auth.ts'
import type { Env } from './env.ts'

/** What a command of curl needs where requests need a token. */
export const AS_USER = ' -H "authorization: Bearer $USER_TOKEN"'

// For a run that is not waited for.
const ASYNC = "-s -H 'prefer: respond-async'"

/** What the output of the demo depends on, besides its environment. */
export interface Welcome {
  /** The model's id and where it runs. */
  label: string
  roles: readonly DemoRole[] | undefined
  /** The program that the scout browses with, or why there is none. */
  chromium: { path: string } | { missing: string }
  /** What the phone understands and speaks with, or why there is no phone. */
  voice: { label: string; phrases: readonly string[] } | { missing: string }
  /** The runs of an earlier process that continue. */
  resumed: readonly RunSummary[]
}

/** The demo's output once it listens: addresses, and commands to paste into a shell. */
export function welcome({ DATA_DIR, DATABASE_URL, HOST, PORT }: Env, { label, ...given }: Welcome): string {
  const { roles, chromium, voice, resumed } = given
  const origin = `http://${addressOf(HOST, PORT)}`
  const base = `${origin}/api`
  const as = roles === undefined ? '' : AS_USER
  // With a token the user is its subject.
  const user = roles === undefined ? { userId: 'ada' } : {}
  const question = { input: 'How do I resume a stream?', sessionId: 'first-steps' }
  const memo = { input: 'What is a run?' }
  const next = { input: 'What did I ask you before? And what is 12 * (3+4)?', sessionId: 'first-steps' }
  const withTool = {
    input: 'What is on my shopping list?',
    tools: [{ name: 'shopping_list', description: 'Reads my shopping list', input: { type: 'object' } }]
  }
  const courier = `${base}/agents/courier/run`
  const everyMinute = { kind: 'agent', name: 'assistant', cron: '* * * * *', input: 'What is 6 * 7?' }
  const said = { role: 'user', parts: [{ kind: 'text', text: 'What is A2A?' }] }
  const message = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message: said } }
  return `
The agent transport service is up. Its console, a page to look, talk and decide:

  ${origin}/

  model   ${label}
  data    ${DATABASE_URL === undefined ? join(resolve(DATA_DIR), 'app.db') : withoutPassword(DATABASE_URL)}
  base    ${base}
  docs    ${base}/docs/
  chat    ${base}/chat/assistant is the api of useChat of the AI SDK
  mcp     claude mcp add --transport http demo ${base}/mcp
  ag-ui   ${base}/ag-ui/assistant is the url of an HttpAgent, for CopilotKit and others
  openai  ${origin}${OPENAI} is the base URL of OpenAI's clients, with assistant as the model
  agents  ${origin}${OPENAI} serves client.beta.agents of OpenAI's SDK, with assistant as the agent_id
  managed ${origin}${MANAGED} is the base URL of Anthropic's clients, for Managed Agents
  shop    ${origin}${SHOP}
  scout   ${'path' in chromium ? `browses with ${chromium.path}` : chromium.missing}
  phone   ${'label' in voice ? `${origin}/${PHONE} with ${voice.label}` : voice.missing}
${roles === undefined ? '' : introduce(roles)}${resumed.length === 0 ? '' : listResumed(resumed, base, as)}
Ask something about this service:

  ${post(`${base}/agents/assistant/run`, question)}${as}

Follow that conversation in a second terminal:

  curl -sN ${base}/sessions/agent/assistant/first-steps/stream${as}

Ask in the same session; both terminals see the answer as it is written:

  ${post(`${base}/agents/assistant/stream`, next, '-N')}${as}

Send a file along:

  curl -s ${base}/agents/assistant/run -F input='What is 6 * 7?' -F files=@README.md${as}

Let an agent keep a note, and delete it, which waits for an approval:

  ${post(`${base}/agents/notes/run`, { input: 'note: buy milk' })}${as}
  ${post(`${base}/agents/notes/run`, { input: 'delete note 1' }, ASYNC)}${as}
  curl -s ${base}/approvals${as}
  ${post(`${base}/approvals/$(${firstApproval(base, as)})`, { approved: true })}${as}

Let an agent book a table; it asks you with a form, which you fill in:

  ${post(`${base}/agents/booking/run`, { input: 'Book a table at Luigi’s' }, ASYNC)}${as}
  curl -s ${base}/inputs${as}
  ${post(`${base}/inputs/$(${firstInput(base, as)})`, { action: 'accept', content: { people: 4, time: '19:30' } })}${as}

Give an agent a tool that you serve yourself: it waits until you send the result:

  ${post(`${base}/agents/assistant/run`, withTool, ASYNC)}${as}
  ${post(`${base}/inputs/$(${firstInput(base, as)})`, { action: 'accept', content: 'milk, bread and tea' })}${as}

Let an agent deliver parcels, one a second; kill the demo meanwhile, start it again, and it continues:

  ${post(courier, { input: 'Deliver 8 parcels' }, ASYNC)}${as}
  kill -9 ${process.pid}
  npm run demo

Change your mind meanwhile: the second message joins the run before its next step, the third interrupts it:

  ${post(courier, { input: 'Deliver 8 parcels', sessionId: 'round' }, ASYNC)}${as}
  ${post(courier, { input: 'Deliver 3 parcels', sessionId: 'round', whenBusy: 'steer' }, ASYNC)}${as}
  ${post(courier, { input: 'Deliver 1 parcel', sessionId: 'round', whenBusy: 'interrupt' })}${as}

Let an agent write a program and run it in the sandbox, or send one yourself:

  ${post(`${base}/agents/analyst/run`, { input: 'What about 2, 4.5 and 9?' })}${as}
  ${post(`${base}/agents/analyst/run`, { input: '```js\nreturn [3, 1, 2].sort()\n```' })}${as}

Ask a team, whose leader hands each question to the agent that knows best:

  ${post(`${base}/teams/desk/run`, { input: 'The statistics of 3, 5 and 10, please' })}${as}

${'missing' in chromium ? '' : browse(base, join(resolve(DATA_DIR), 'shop.jpg'), as)}${'label' in voice && voice.phrases.length > 0 ? phone(base, resolve(DATA_DIR), as) : ''}Let a workflow write a memo and keep it, which waits for an approval of the text, even across a restart:

  ${post(`${base}/workflows/memo/run`, memo, ASYNC)}${as}
  curl -s ${base}/approvals${as}
  ${post(`${base}/approvals/$(${firstApproval(base, as)})`, { approved: true })}${as}

Let an agent answer every minute, see when it does so next, and switch that off again:

  ${post(`${base}/schedules`, everyMinute)}${as}
  curl -s ${base}/schedules${as}
  ${post(`${base}/schedules/$(${firstSchedule(base, as)})`, { enabled: false }, '-s -X PATCH')}${as}

Let an agent remember something, and ask for it in another session; then let it use a skill:

  ${post(`${base}/agents/companion/run`, { ...user, input: 'My dog is called Rex.' })}${as}
  ${post(`${base}/agents/companion/run`, { ...user, input: 'What is my dog called?' })}${as}
  ${post(`${base}/agents/companion/run`, { input: 'Write the minutes: Ada and Grace met. Decided: ship on Friday.' })}${as}

Ask over a socket that loses its connection on the way and resumes:

  npm run -s example:socket -- ${origin}

Talk to an agent as other agents do, over A2A:

  curl -s ${origin}/.well-known/agent-card.json
  ${post(`${origin}/a2a`, message)}${as}

List everything registered, and the runs so far:

  curl -s ${base}/registry${as}
  curl -s ${base}/runs${as}

Stop with Ctrl+C.
`
}

/** A request as a shell command. */
export function post(url: string, body: object, flag = '-s'): string {
  return `curl ${flag} ${url} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`
}

function firstApproval(base: string, as: string): string {
  return firstOf(`${base}/approvals${as}`, 'approvalId')
}

function firstInput(base: string, as: string): string {
  return firstOf(`${base}/inputs${as}`, 'inputId')
}

function firstSchedule(base: string, as: string): string {
  return firstOf(`${base}/schedules${as}`, 'scheduleId')
}

// A run may take some seconds until it waits.
function firstOf(list: string, id: string): string {
  const found = `curl -s ${list} | sed -n 's/.*"${id}":"\\([^"]*\\)".*/\\1/p'`
  return `for i in $(seq 30); do ${found} | grep . && break; sleep 1; done`
}

function browse(base: string, file: string, as: string): string {
  const run = `${base}/agents/scout/run`
  const order =
    'Order 2 enamel mugs. Name: Ada; E-mail: ada@example.org; Address: 1 Quay Street; Delivery: by post; Terms: yes'
  return `Let an agent browse the shop with Chromium, and save its last screenshot:

  ${post(run, { input: 'How much is the rain jacket in size L?' })}${as}
  ${saveFile(file, base, `${post(run, { input: 'Which tea is the cheapest?' })}${as}`)}${as}

Let it order something, which waits for an approval at the last click:

  ${post(run, { input: order }, ASYNC)}${as}
  ${post(`${base}/approvals/$(${firstApproval(base, as)})`, { approved: true })}${as}

`
}

function phone(base: string, folder: string, as: string): string {
  const [question, answer] = [join(folder, 'question.wav'), join(folder, 'answer.wav')]
  const run = `curl -s ${base}/agents/phone/run -F files='@${question};type=audio/wav'${as}`
  return `Call the phone from the console, at the address above; or send it a question as audio, and save its answer:

  espeak-ng -v en-us+f3 -s 140 -w "${question}" 'what is twelve times seven'
  ${saveFile(answer, base, run)}${as}

`
}

// The last file of the result of a run.
function saveFile(file: string, base: string, run: string): string {
  const path = String.raw`sed -n 's/.*"fileId":"\([^"]*\)".*"runId":"\([^"]*\)".*/\2\/files\/\1/p'`
  const saved = `-w '{"file":"%{filename_effective}","type":"%{content_type}"}\\n'`
  return `curl -s -o "${file}" ${saved} ${base}/runs/$(${run} | ${path})`
}

function listResumed(runs: readonly RunSummary[], base: string, as: string): string {
  const lines = runs.map(
    ({ runId, kind, name }) => `  curl -sN ${base}/runs/${runId}/stream${as} # ${kind} ${name}`
  )
  return `
Runs that were in progress when the last demo ended continue:

${lines.join('\n')}
`
}

export function introduce(roles: readonly DemoRole[]): string {
  const tokens = roles.map(({ role, token }) => `  export ${role.toUpperCase()}_TOKEN=${token}`)
  const rights = roles.map(({ role, may }) => `  ${role.padEnd(8)}may ${may}`)
  return `
Requests need a token. Paste these lines first; the tokens are valid for a day:

${tokens.join('\n')}

${rights.join('\n')}
`
}
