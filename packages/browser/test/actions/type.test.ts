import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())
const failed = { code: 'RUN_ERR_BROWSER_ACTION_FAILED' }

t.test('typing', needsChromium, async (t) => {
  t.test('replaces the text of a field, or adds to it, and submits with Enter', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<form onsubmit="event.preventDefault(), (document.title = 'sent ' + f.value)"><input id=f aria-label=Field value=old></form>
      <textarea id=a aria-label=Area onkeyup="document.title = value">one</textarea>`
    )
    const field = await find('"Field"')
    await act({ action: 'type', at: field, text: 'new', submit: true })
    t.equal(await title(), 'sent new')
    await act({ action: 'type', at: field, text: 'er ✓', append: true, submit: true })
    t.equal(await title(), 'sent newer ✓')
    await act({ action: 'type', at: field, text: '', submit: true })
    t.equal(await title(), 'sent')
    const area = await find('"Area"')
    await act({ action: 'type', at: area, text: ' two', append: true })
    t.equal(await title(), 'one two')
    await act({ action: 'type', text: 'without a spot: what has the focus' })
    t.equal(await title(), 'without a spot: what has the focus')
  })

  t.test('texts of any characters and lines, up to a megabyte', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<form onsubmit="document.title = 'sent'; return false"><textarea aria-label=Area></textarea><input aria-label=Line></form>
      <button onclick="document.title = JSON.stringify(document.querySelector('textarea').value).slice(0, 60)">Show</button>
      <button onclick="document.title = document.querySelector('textarea').value.length">Length</button>
      <button onclick="document.title = document.querySelector('input').value">Line value</button>`
    )
    const area = await find('"Area"')
    const text = 'Zoë 日本語 👩‍👩‍👧 “x”\n\tsecond\nthird'
    await act({ action: 'type', at: area, text })
    await act({ action: 'click', at: await find('"Show"') })
    t.equal(await title(), JSON.stringify(text))
    const large = `two\nlines${'word '.repeat(210_000)}`
    await act({ action: 'type', at: area, text: large })
    await act({ action: 'click', at: await find('"Length"') })
    t.equal(await title(), String(large.length))
    await act({ action: 'type', at: await find('"Line"'), text: 'one\ntwo' })
    await act({ action: 'click', at: await find('"Line value"') })
    t.match(await title(), /^one ?two$/, 'a line break submits nothing')
  })

  t.test('pages that listen to keys get them', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<input aria-label=Keys><script>
        let keys = ''
        addEventListener('keydown', (event) => (document.title = keys += event.key[0]))
      </script>`
    )
    await act({ action: 'type', at: await find('"Keys"'), text: 'Ab' })
    t.equal(await title(), 'Ab')
    await act({ action: 'type', at: await find('"Keys"'), text: 'x'.repeat(100) + 'y' })
    t.equal(await title(), 'Aby', 'at least the last one of a long text')
  })

  t.test('one field per digit moves the focus along', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<div id=d><input maxlength=1 aria-label=First><input maxlength=1><input maxlength=1></div><script>
        d.oninput = (event) => {
          event.target.nextElementSibling?.focus()
          document.title = [...d.children].map((field) => field.value).join('')
        }
      </script>`
    )
    await act({ action: 'type', at: await find('"First"'), text: '123' })
    t.equal(await title(), '123')
  })

  t.test('suggestions that come late are awaited', async (t) => {
    const { act, find, text } = await deskAt(
      t,
      browser,
      `<input role=combobox aria-label=City aria-expanded=false aria-controls=l oninput="setTimeout(() => (l.innerHTML = '<li role=option>Bern'), 150)">
      <ul role=listbox id=l></ul>`
    )
    await act({ action: 'type', at: await find('"City"'), text: 'Be' })
    t.match(await text(), 'Bern')
  })

  t.test('fields with a format take it, or say what it is', async (t) => {
    const fields: Record<string, [good: string, bad: string, format: string]> = {
      date: ['2027-03-31', '31.03.2027', 'YYYY-MM-DD'],
      time: ['14:30', '2:30 pm', 'HH:MM'],
      'datetime-local': ['2027-03-31T14:30', 'tomorrow', 'YYYY-MM-DDTHH:MM'],
      month: ['2027-03', 'March', 'YYYY-MM'],
      week: ['2027-W13', '13', 'YYYY-Www'],
      color: ['#ff8800', 'red', '#rrggbb'],
      range: ['40', 'forty', 'a number'],
      number: ['-12.5', 'twelve', 'digits']
    }
    const html = Object.keys(fields).map(
      (type) => `<input type=${type} aria-label="${type} field" onchange="document.title = value" step=any>`
    )
    const { act, find, title } = await deskAt(t, browser, html.join(''))
    for (const [type, [good, bad, format]] of Object.entries(fields)) {
      const at = await find(`"${type} field"`)
      await act({ action: 'type', at, text: good, submit: type === 'number' })
      t.equal(await title(), good, type)
      const { code, message } = (await act({ action: 'type', at, text: bad }).catch(
        (err: unknown) => err
      )) as Error & { code: string }
      t.match({ code, message }, { ...failed, message: format }, type)
    }
    await t.rejects(act({ action: 'type', at: await find('"date field"'), text: '2027-02-31' }), {
      ...failed,
      message: /did not take/
    })
    const { notices } = await act({ action: 'type', at: await find('"range field"'), text: '4000' })
    t.same(notices, ['The field took "100" instead'])
  })

  t.test('other kinds of field name the action for them, or what is wrong', async (t) => {
    const { act, find } = await deskAt(
      t,
      browser,
      `<input type=checkbox aria-label=Check><input type=radio aria-label=Radio><input type=file aria-label=File>
      <input type=submit value=Send><select aria-label=List><option>1</select><p role=note aria-label=Text>text</p>
      <input aria-label=Fixed readonly><input aria-label=Off disabled><input type=date aria-label=Day disabled>`,
      // A field that cannot be typed into is an error at once: nothing waits for the end of the action.
      { timeout: { action: 600_000, navigation: 2_000 } }
    )
    const reasons = {
      Check: 'check action',
      Radio: 'check action',
      File: 'upload action',
      Send: 'click action',
      List: 'select action',
      Text: 'no text field',
      Fixed: 'read-only',
      Off: 'disabled',
      Day: 'disabled'
    }
    for (const [name, reason] of Object.entries(reasons)) {
      const typed = act({ action: 'type', at: await find(`"${name}"`), text: '2026-01-01' })
      await t.rejects(typed, { ...failed, message: new RegExp(reason) }, name)
    }
  })

  t.test('a button or a link is not pressed, since that would do more than typing', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<title>untouched</title><form onsubmit="document.title = 'sent'; return false"><button><b role=note aria-label=Bold>Order</b></button><button>Pay</button>
      <input type=submit aria-label=Send></form><a href="#" onclick="document.title = 'followed'">Away</a>`
    )
    for (const [name, reason] of [
      ['"Pay"', 'it is a button; use the click action'],
      ['"Bold"', 'it is a button; use the click action'],
      ['"Send"', 'it is a button; use the click action'],
      ['"Away"', 'it is a link; use the click action']
    ] as const)
      await t.rejects(
        act({ action: 'type', at: await find(name), text: 'x' }),
        { ...failed, message: new RegExp(reason) },
        name
      )
    t.equal(await title(), 'untouched')
  })

  t.test('labels, fields drawn by the page, rich text, and passwords', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<label role=group aria-label=Label for=named><b>Name</b></label><input id=named oninput="document.title = 'named ' + value">
      <div role=textbox aria-label=Drawn tabindex=0 onclick="inner.focus()">drawn</div>
      <input id=inner style="width:2px" oninput="document.title = 'inner ' + value">
      <div contenteditable aria-label=Rich role=textbox oninput="document.title = 'rich ' + innerText">old <b>text</b></div>
      <input type=password aria-label=Secret oninput="document.title = value.length">
      <input maxlength=3 aria-label=Short>`
    )
    const typed = (name: string, text: string) =>
      find(`"${name}"`).then((at) => act({ action: 'type', at, text }))
    await typed('Label', 'Ada')
    t.equal(await title(), 'named Ada')
    await typed('Drawn', 'deep')
    t.equal(await title(), 'inner deep')
    await typed('Rich', 'new')
    t.equal(await title(), 'rich new')
    await typed('Secret', 'hidden')
    t.equal(await title(), '6')
    t.same((await typed('Short', 'abcdef')).notices, ['The field takes at most 3 characters'])
  })

  t.test('without a field that has the focus, the page gets the keys', async (t) => {
    const { act, title } = await deskAt(
      t,
      browser,
      `<script>onkeydown = (event) => (document.title += event.key)</script>`
    )
    t.same((await act({ action: 'type', text: 'go' })).notices, [
      'No field has the focus: the page got the keys'
    ])
    t.equal(await title(), 'go')
  })
})

t.test('keys', needsChromium, async (t) => {
  const log = `<input aria-label=Field><script>
    onkeydown = (event) => (document.title = [event.ctrlKey && 'ctrl', event.shiftKey && 'shift', event.key].filter(Boolean).join(' '))
  </script>`

  t.test('by the names of Playwright, and by other usual ones', async (t) => {
    const { act, find, title } = await deskAt(t, browser, log)
    const at = await find('"Field"')
    const keys = {
      Enter: 'Enter',
      esc: 'Escape',
      return: 'Enter',
      'ctrl+a': 'ctrl a',
      'Control+Shift+K': 'ctrl shift K',
      '+': '+',
      'Control++': 'ctrl +',
      Down: 'ArrowDown'
    }
    for (const [key, seen] of Object.entries(keys)) {
      await act({ action: 'press', at, key })
      t.equal(await title(), seen, key)
    }
  })

  t.test('an unknown one is an error, and holds no other down', async (t) => {
    const { act, find, title } = await deskAt(t, browser, log)
    const at = await find('"Field"')
    for (const key of ['Control+Nonsense', 'F99', '']) {
      await t.rejects(act({ action: 'press', at, key }), { ...failed, message: /there is no key/ }, key)
    }
    await act({ action: 'press', key: 'b' })
    t.equal(await title(), 'b')
  })
})
