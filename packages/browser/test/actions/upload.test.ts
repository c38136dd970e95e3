import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import type { UploadedFile } from '../../src/browser.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())
const failed = { code: 'RUN_ERR_BROWSER_ACTION_FAILED' }
const file = (name: string, text = 'content'): UploadedFile => ({
  name,
  mimeType: 'text/plain',
  data: Buffer.from(text)
})

const fields = `<script>
    async function show(field) {
      const texts = await Promise.all([...field.files].map(async (file) => file.name + '|' + file.type + '|' + (await file.text())))
      document.title = field.files.length + ' ' + texts
    }
  </script>
  <input type=file aria-label=One onchange="show(this)"><input type=file multiple aria-label=Many onchange="show(this)">
  <label role=group aria-label=Label><input type=file style="display:none" onchange="show(this)">Choose</label>
  <button onclick="attached.click()">Attach</button><input type=file id=attached hidden onchange="show(this)">
  <input type=file aria-label=Off disabled><input type=file aria-label=Folder webkitdirectory><button>Nothing</button>`

t.test('uploads', needsChromium, async (t) => {
  const setUp = async (t: { teardown(close: () => unknown): void }) => {
    const { act, find, title } = await deskAt(t, browser, fields)
    const upload = (name: string, ...files: UploadedFile[]) =>
      find(`"${name}"`).then((at) => act({ action: 'upload', at, files }))
    return { upload, title }
  }

  t.test('into a field, its label, or what a button asks with', async (t) => {
    const { upload, title } = await setUp(t)
    for (const name of ['One', 'Label', 'Attach']) {
      await upload(name, file(`${name}.txt`))
      t.equal(await title(), `1 ${name}.txt|text/plain|content`)
    }
    await upload('Many', file('a.txt', '1'), file('b.txt', '2'))
    t.equal(await title(), '2 a.txt|text/plain|1,b.txt|text/plain|2')
    await upload('Many')
    t.equal(await title(), '0')
  })

  t.test('a name is no path, and has no odd characters', async (t) => {
    const { upload, title } = await setUp(t)
    const names = {
      '../../etc/passwd': 'passwd',
      'C:\\secret\\a.txt': 'a.txt',
      'a\u0000"<b>.txt': 'a___b_.txt',
      '..': 'file',
      '': 'file',
      'naïve 日本.txt': 'naïve 日本.txt'
    }
    for (const [name, clean] of Object.entries(names)) {
      await upload('One', file(name, ''))
      t.equal(await title(), `1 ${clean}|text/plain|`)
    }
    await upload('One', file('x'.repeat(5_000)))
    t.match(await title(), /^1 x{200}\|/)
  })

  t.test('what takes no files says why', async (t) => {
    const { upload } = await setUp(t)
    const two = [file('a'), file('b')]
    for (const name of ['One', 'Attach'])
      await t.rejects(upload(name, ...two), { ...failed, message: /one file only/ }, name)
    await t.rejects(upload('Off', file('a')), { ...failed, message: /disabled/ })
    await t.rejects(upload('Folder', file('a')), { ...failed, message: /a folder/ })
    await t.rejects(upload('Nothing', file('a')), { ...failed, message: /asks for no file/ })
    const large = { name: 'large', mimeType: 'text/plain', data: new Uint8Array(51 * 1024 * 1024) }
    await t.rejects(upload('One', large), { code: 'RUN_ERR_BROWSER_TOO_LARGE' })
  })

  t.test('a click on what asks for files names the action for them', async (t) => {
    const { act, find } = await deskAt(t, browser, fields)
    for (const name of ['One', 'Attach']) {
      const { notices } = await act({ action: 'click', at: await find(`"${name}"`) })
      t.same(notices, ['The page asks for files: use the upload action'], name)
    }
  })
})
