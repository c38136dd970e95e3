import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'

/** Runs a module in a separate process, which must exit by itself. */
async function exitOf(code: string): Promise<string> {
  const imports = `
    import { createRunEngine } from '@svc/registry'
    import { createSseStream } from '@svc/surface'
    import { scriptedRunnable } from '@svc/testing'`
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=@svc/source', '--input-type=module', '--eval', imports + code],
    { timeout: 20_000, cwd: import.meta.dirname }
  )
  return stdout.trim()
}

t.test('an engine that is not closed does not keep the process alive', async (t) => {
  const said = await exitOf(`
    const engine = createRunEngine()
    const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }]), 'x')
    process.stdout.write((await run.result()).text)
    const asking = await engine.start(scriptedRunnable([
      ({ approvals }) => approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
    ]), 'x')
    void createSseStream(engine, asking.runId).pipeTo(new WritableStream())`)
  t.equal(said, 'a')
})

t.test('closing an engine with runs in progress leaves nothing behind', async (t) => {
  const said = await exitOf(`
    const engine = createRunEngine({ drainTimeout: 60_000 })
    const quick = await engine.start(scriptedRunnable([20]), 'x')
    const asking = await engine.start(scriptedRunnable([
      ({ approvals }) => approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
    ]), 'x')
    setTimeout(() => asking.cancel(), 40)
    await Promise.all([engine.close(), engine.close()])
    const left = process.getActiveResourcesInfo().filter((name) => name === 'Timeout')
    process.stdout.write(JSON.stringify([(await quick.result()).finishReason, engine.active, left]))`)
  t.same(JSON.parse(said), ['stop', 0, []])
})

t.test('an unhandled approval does not crash the process when its run ends', async (t) => {
  const said = await exitOf(`
    const engine = createRunEngine()
    const run = await engine.start(scriptedRunnable([
      ({ approvals }) => void approvals.request({ toolCallId: 'c', toolName: 't', args: {} }),
      60_000
    ]), 'x')
    await new Promise((resolve) => setImmediate(resolve))
    await run.cancel()
    await new Promise((resolve) => setImmediate(resolve))
    process.stdout.write('alive')
    await engine.close()`)
  t.equal(said, 'alive')
})
