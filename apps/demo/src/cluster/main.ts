import { once } from 'node:events'
import { startPostgres } from '@tools/postgres'
import { createDemoAuth, randomSecret } from '../auth/demo-auth.ts'
import { claimPort, type ClaimedPort } from '../claim-port.ts'
import { readEnv } from '../env.ts'
import { createBalancer } from './balancer.ts'
import { Nodes } from './nodes.ts'
import { welcomeToCluster } from './welcome-to-cluster.ts'

const NODES = 3

try {
  await start()
} catch (err) {
  console.error(`The cluster cannot start: ${(err as Error).message}`)
  process.exit(1)
}

/** Starts a Postgres, unless `DATABASE_URL` names one, the nodes, and a balancer in front of them at `PORT`. */
async function start(): Promise<void> {
  const { HOST, PORT, DATABASE_URL, DEMO_AUTH, DEMO_SECRET = randomSecret() } = readEnv(process.env)
  const roles = DEMO_AUTH ? (await createDemoAuth(DEMO_SECRET)).roles : undefined
  const front = await claimPort(HOST, PORT)
  const claimed = await Promise.all(
    Array.from({ length: NODES }, (_, index) => portNear(front.port + 1 + index))
  )
  console.log(`Starting ${DATABASE_URL === undefined ? 'Postgres and ' : ''}${NODES} nodes …`)
  const postgres = DATABASE_URL === undefined ? await startPostgres({ durable: true }) : undefined
  const url = DATABASE_URL ?? postgres!.url
  const env = { ...process.env, HOST: '127.0.0.1', DATABASE_URL: url, DEMO_SECRET }
  await Promise.all(claimed.map(({ release }) => release()))
  const nodes = new Nodes(
    claimed.map(({ port }) => port),
    env,
    console.log
  )
  const balancer = createBalancer(() => nodes.all)
  const stop = async () => {
    balancer.close()
    await nodes.close()
    await postgres?.stop()
  }
  const quit = () => void stop().finally(() => process.exit())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, quit)
  try {
    await nodes.start()
  } catch (err) {
    await stop()
    throw err
  }
  await front.release()
  balancer.listen({ host: HOST, port: front.port })
  await once(balancer, 'listening')
  const isOwn = postgres !== undefined
  console.log(welcomeToCluster({ host: HOST, port: front.port, nodes: nodes.all, url, isOwn, roles }))
}

// The wanted one, or any that is free.
function portNear(wanted: number): Promise<ClaimedPort> {
  return claimPort('127.0.0.1', wanted).catch(() => claimPort('127.0.0.1', 0))
}
