import { followUnderFire } from './soak/channel.ts'
import { startPostgres } from '@tools/postgres'
for (const [store, restarts] of [
  ['memory', 0],
  ['sqlite', 4]
] as const) {
  const t = Date.now()
  console.log(
    store,
    await followUnderFire({ store, scripts: 20, batch: 10, restarts, seed: 1 }),
    Date.now() - t
  )
}
const server = await startPostgres()
const t = Date.now()
console.log(
  'pg',
  await followUnderFire({ store: { postgres: server.url }, scripts: 20, batch: 10, restarts: 4, seed: 1 }),
  Date.now() - t
)
await server.stop()
