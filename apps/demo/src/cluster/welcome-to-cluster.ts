import { addressOf, withoutPassword } from '../address.ts'
import type { DemoRole } from '../auth/demo-auth.ts'
import { AS_USER, introduce, post } from '../welcome.ts'
import type { Node } from './nodes.ts'

/** What the output of the cluster depends on. */
export interface Cluster {
  /** Of the balancer. */
  host: string
  port: number
  nodes: readonly Node[]
  /** Of the database. */
  url: string
  /** Whether the database is a Postgres of this cluster. */
  isOwn: boolean
  roles: readonly DemoRole[] | undefined
}

const RUN = "-s -H 'prefer: respond-async'"

/** The output of the cluster once it serves: addresses, and commands to paste into a shell. */
export function welcomeToCluster({ host, port, nodes, url, isOwn, roles }: Cluster): string {
  const base = `http://${addressOf(host, port)}/api`
  const [first, second, third] = nodes.map((node) => `http://127.0.0.1:${node.port}/api`)
  const as = roles === undefined ? '' : AS_USER
  const deliver = { input: 'Deliver 20 parcels' }
  return `
The agent transport service is up: ${nodes.length} nodes on one Postgres.

  base      ${base}, which takes each connection to the next node
${nodes.map(({ number, port: own, pid }) => `  node ${number}    http://127.0.0.1:${own}/api, pid ${pid}`).join('\n')}
  postgres  ${isOwn ? 'one that npm brought, removed when the cluster stops; DATABASE_URL takes your own' : withoutPassword(url)}
${roles === undefined ? '' : introduce(roles)}
Start a run on node 1 that takes some time, and watch it on node 2:

  ${post(`${first}/agents/courier/run`, deliver, RUN)}${as}
  curl -sN ${second}/runs/$(${lastRun(second, as)})/stream${as}

Meanwhile kill node 1, in another terminal: within 15 seconds another node resumes the run, and the stream continues:

  kill -9 ${nodes[0]?.pid}

Start another one, and end its node as a deploy does: it hands the run over at once:

  ${post(`${second}/agents/courier/run`, deliver, RUN)}${as}
  kill -TERM ${nodes[1]?.pid}
  curl -sN ${third}/runs/$(${lastRun(third, as)})/stream${as}

Let an agent ask for an approval, and give it on whichever node the balancer takes:

  ${post(`${base}/agents/notes/run`, { input: 'note: buy milk' })}${as}
  ${post(`${base}/agents/notes/run`, { input: 'delete note 1' }, RUN)}${as}
  ${post(`${base}/approvals/$(${idOf(`${base}/approvals`, 'approvalId', as)})`, { approved: true })}${as}

Ask in one session, on any node:

  ${post(`${base}/agents/assistant/run`, { input: 'How do I resume a stream?', sessionId: 'first-steps' })}${as}
  ${post(`${base}/agents/assistant/run`, { input: 'What did I ask you before?', sessionId: 'first-steps' })}${as}

Stop with Ctrl+C.
`
}

function lastRun(base: string | undefined, as: string): string {
  return idOf(`${base}/runs?limit=1`, 'runId', as)
}

// What is listed may take a moment.
function idOf(list: string, id: string, as: string): string {
  const found = `curl -s '${list}'${as} | sed -n 's/.*"${id}":"\\([^"]*\\)".*/\\1/p'`
  return `for i in $(seq 30); do ${found} | grep . && break; sleep 1; done`
}
