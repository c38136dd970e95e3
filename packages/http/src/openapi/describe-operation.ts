const TAG_OF = {
  agent: 'Agents',
  team: 'Teams',
  workflow: 'Workflows',
  registry: 'Registry',
  run: 'Runs',
  approval: 'Approvals'
}

/** What an event stream looks like. */
export const EVENT_STREAM = `Each message is one part of the run: its \`data\` is the JSON of a \`Part\`, its \`id\` the part's \`seq\`.
Comments (\`:\`) keep the connection awake. The stream ends after a \`finish\` or \`error\` without \`source\`.

\`\`\`
data: {"seq":1,"type":"start","runId":"r1","sessionId":"s1","kind":"agent","name":"support"}
id: 1

data: {"seq":2,"type":"text","text":"Hello"}
id: 2

\`\`\`

A client that lost its connection goes on with \`GET /runs/{runId}/stream\` and \`Last-Event-ID\`.`

/** The texts of an operation. @param name its words, joined by hyphens: `run-agent`; the last one tells its group */
export function describeOperation(name: string, summary: string, description?: string) {
  const [verb, ...nouns] = name.split('-')
  const operationId = verb + nouns.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
  const noun = nouns.at(-1)?.replace(/s$/, '') as keyof typeof TAG_OF
  return { operationId, tags: [TAG_OF[noun]], summary, ...(description !== undefined && { description }) }
}

/** The groups of operations, in the order in which pages show them. */
export const TAGS = [
  { name: 'Agents', description: 'Run agents, and see what there is' },
  { name: 'Teams', description: 'Run teams, and see what there is' },
  { name: 'Workflows', description: 'Run workflows, and see what there is' },
  { name: 'Registry', description: 'Everything that can be run, by name' },
  { name: 'Runs', description: 'Follow, look at and cancel one’s own runs' },
  { name: 'Approvals', description: 'Answer for tools that wait for it' },
  { name: 'Admin', description: 'Everybody’s runs, and what is registered' },
  { name: 'Health', description: 'Whether the process is up, and takes runs' }
]
