const TAG_OF = {
  agent: 'Agents',
  team: 'Teams',
  workflow: 'Workflows',
  registry: 'Registry',
  run: 'Runs',
  file: 'Runs',
  approval: 'Approvals',
  input: 'Inputs',
  schedule: 'Schedules',
  session: 'Sessions',
  health: 'Admin',
  webhook: 'Webhooks',
  delivery: 'Webhooks'
}

/** The format of an event stream. */
export const EVENT_STREAM = `Each message is one part of the run: its \`data\` is the JSON of a \`Part\`, its \`id\` the part's \`seq\`.
Comments (\`:\`) keep the connection awake. The stream ends after a \`finish\` or \`error\` without \`source\`.

\`\`\`
data: {"seq":1,"type":"start","at":1767225600000,"runId":"r1","sessionId":"s1","kind":"agent","name":"support","input":"Hi"}
id: 1

data: {"seq":2,"type":"text","at":1767225600000,"text":"Hello"}
id: 2

\`\`\`

A client that lost its connection continues with \`GET /runs/{runId}/stream\` and \`Last-Event-ID\`.`

/** The format of the event stream of a session. */
export const CHANNEL_STREAM = `Each message is one part of a run of the session, in the order in which the runs had their turns: its \`data\` is the JSON
of a \`Part\` with the \`runId\` of its run, its \`id\` the place in the session. The stream does not end with a run: it continues
with the next one, which any client may start. Comments (\`:\`) keep the connection awake. A run that waits for its turn shows as \`data\` parts named \`queue\`, which have no \`id\`.

\`\`\`
data: {"runId":"r7","seq":2,"type":"text","at":1767225600000,"text":"Hello"}
id: 7.2

\`\`\`

A client that lost its connection continues with \`Last-Event-ID\`. If the log there is no longer kept, the answer is 410: read the messages, and
continue from their \`lastEventId\`. The stream ends when the token of its client expires.`

/** The texts of an operation. @param name its words, joined by hyphens: `run-agent`; the last one selects the tag */
export function describeOperation(name: string, summary: string, description?: string) {
  const [verb, ...nouns] = name.split('-')
  const operationId = verb + nouns.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
  const noun = nouns.at(-1)?.replace(/ies$/, 'y').replace(/s$/, '') as keyof typeof TAG_OF
  return { operationId, tags: [TAG_OF[noun]], summary, ...(description !== undefined && { description }) }
}

/** The tags of operations, in the order of the page. */
export const TAGS = [
  { name: 'Agents', description: 'Run and list agents' },
  { name: 'Teams', description: 'Run and list teams' },
  { name: 'Workflows', description: 'Run and list workflows' },
  { name: 'Registry', description: 'The names of all runnables' },
  { name: 'Runs', description: 'Follow, read and cancel your own runs, and read their files' },
  { name: 'Approvals', description: 'Approve or deny pending tool calls' },
  { name: 'Inputs', description: 'Answer questions, and give the results of client tools' },
  { name: 'Sessions', description: 'Read, name and follow your own conversations' },
  { name: 'Schedules', description: 'Start runs at given times' },
  { name: 'Webhooks', description: 'Report your runs to other services' },
  { name: 'Admin', description: 'The runs of all owners, and the registered runnables' },
  { name: 'Health', description: 'Liveness and readiness' }
]
