import { buildApp } from '../app.ts'
import { createDemoAuth } from '../auth/demo-auth.ts'
import { readEnv } from '../env.ts'
import { chooseModel } from '../models/choose-model.ts'
import { chooseVoice } from '../voice/choose-voice.ts'

// One node of the cluster, as a process of its own. It reports to its parent when it listens, or why it cannot.
try {
  const env = readEnv(process.env)
  const { model } = await chooseModel(env)
  const auth = env.DEMO_AUTH ? await createDemoAuth(env.DEMO_SECRET) : undefined
  const app = await buildApp(env, model, { auth, voice: await chooseVoice(env) })
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void app.close().finally(() => process.exit()))
  // Without its parent nothing would ever stop it.
  process.once('disconnect', () => void app.close().finally(() => process.exit()))
  await app.listen({ host: env.HOST, port: env.PORT })
  process.send?.({ listening: true })
} catch (err) {
  process.send?.({ fault: (err as Error).message })
  process.exit(1)
}
