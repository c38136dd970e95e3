import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { findChromium } from '../../src/chromium/plan-chromium.ts'
import { launchPlain, needsChromium } from '../helpers/chromium.ts'

t.test('CHROMIUM_PATH comes before PATH, and that before the usual places', async (t) => {
  const folder = t.testdir({})
  const own = join(folder, 'own')
  const onPath = join(folder, 'chromium')
  for (const path of [own, onPath]) {
    await writeFile(path, '')
    await chmod(path, 0o755)
  }
  t.equal(await findChromium({ CHROMIUM_PATH: own, PATH: folder }), own)
  t.equal(await findChromium({ PATH: `:${folder}` }), onPath)
})

t.test('a CHROMIUM_PATH that is no program is an error, not a reason to look elsewhere', async (t) => {
  const path = join(t.testdir({ text: 'no program' }), 'text')
  await t.rejects(findChromium({ CHROMIUM_PATH: path }), { code: 'RUN_ERR_BROWSER_MISSING', message: path })
})

t.test('a folder is no program', async (t) => {
  const folder = t.testdir({ chromium: {}, bin: {} })
  const path = join(folder, 'chromium')
  await t.rejects(findChromium({ CHROMIUM_PATH: path }), { code: 'RUN_ERR_BROWSER_MISSING', message: path })
  const onPath = join(folder, 'bin', 'chromium')
  await writeFile(onPath, '')
  await chmod(onPath, 0o755)
  t.equal(await findChromium({ PATH: `${folder}:${join(folder, 'bin')}` }), onPath)
})

t.test('what it finds is a browser', needsChromium, async (t) => {
  const browser = await launchPlain()
  t.teardown(() => browser.close())
  t.match(browser.version(), /^\d+\./)
})
