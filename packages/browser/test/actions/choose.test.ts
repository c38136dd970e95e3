import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())
const failed = { code: 'RUN_ERR_BROWSER_ACTION_FAILED' }
const timeout = { action: 1_000, navigation: 5_000 }

t.test('selecting', needsChromium, async (t) => {
  const many = Array.from({ length: 25 }, (_, at) => `<option>Town ${at}`).join('')
  const lists = `<label role=group aria-label=Caption for=one>Size</label>
    <select id=one aria-label=Size onchange="document.title = value"><option value=s>Small<option value=l>Large  size<option disabled>Huge</select>
    <select id=some multiple aria-label=Colours onchange="document.title = 'some ' + [...selectedOptions].map((o) => o.value)">
    <option>red<option>green<option>blue</select>
    <select aria-label=Towns>${many}</select><select aria-label=Off disabled><option>a</select><p role=note aria-label=Note>note</p>`

  t.test('options by value, by label, by label in another case, by the list or its label', async (t) => {
    const { act, find, title } = await deskAt(t, browser, lists, { timeout })
    const select = (name: string, ...values: string[]) =>
      find(`"${name}"`).then((at) => act({ action: 'select', at, values }))
    for (const [value, seen] of [
      ['l', 'l'],
      ['Small', 's'],
      ['large size', 'l']
    ]) {
      await select('Size', value!)
      t.equal(await title(), seen)
    }
    await select('Caption', 's')
    t.equal(await title(), 's')
    await select('Colours', 'red', 'blue')
    t.equal(await title(), 'some red,blue')
    await select('Colours')
    t.equal(await title(), 'some')
  })

  t.test('what cannot be selected lists what can', async (t) => {
    const { act, find } = await deskAt(t, browser, lists, { timeout })
    const select = (name: string, ...values: string[]) =>
      find(`"${name}"`).then((at) => act({ action: 'select', at, values }))
    const rejects = async (selected: Promise<unknown>, message: string | RegExp) => {
      const err = (await selected.catch((caught: unknown) => caught)) as Error
      t.match(err, { ...failed, message })
      t.notMatch(err.message, /locator|Call log|\n/)
    }
    await rejects(
      select('Size', 'Tiny'),
      'The action failed: there is no option "Tiny"; its options are "Small", "Large size", "Huge"'
    )
    await rejects(select('Size', 'Huge'), /the option "Huge" is disabled/)
    await rejects(select('Size', 's', 'l'), /exactly one option/)
    await rejects(select('Size'), /exactly one option/)
    await rejects(select('Towns', 'Nowhere'), /"Town 19", and 5 more$/)
    await rejects(select('Off', 'a'), /the element is disabled/)
    await rejects(select('Note', 'a'), /no drop-down/)
  })

  t.test('a drop-down that the page draws', async (t) => {
    const { act, find, title, text } = await deskAt(
      t,
      browser,
      `<div role=combobox tabindex=0 aria-label=Fruit aria-expanded=false aria-controls=l id=c>Choose</div><ul role=listbox id=l hidden></ul><script>
        c.onclick = () => setTimeout(() => {
          c.ariaExpanded = 'true'
          l.hidden = false
          l.innerHTML = '<li role=option>Apple</li><li role=option>Pear</li>'
        }, 100)
        l.onclick = (event) => {
          document.title = c.textContent = event.target.textContent
          c.ariaExpanded = 'false'
          l.hidden = true
        }
        c.onkeydown = (event) => event.key === 'Escape' && ((l.hidden = true), (c.ariaExpanded = 'false'))
      </script>`,
      { timeout: { action: 4_000, navigation: 5_000 } }
    )
    const at = await find('combobox "Fruit"')
    await act({ action: 'select', at, values: ['Pear'] })
    t.equal(await title(), 'Pear')
    const failing = act({ action: 'select', at, values: ['Plum'] })
    await t.rejects(failing, { ...failed, message: /no option "Plum"; its options are "Apple", "Pear"/ })
    t.notMatch(await text(), 'option "Apple"', 'it is closed again')
  })
})

t.test('checking', needsChromium, async (t) => {
  const boxes = `<input type=checkbox aria-label=Box onchange="document.title = 'box ' + checked">
    <input type=radio name=r aria-label=One checked><input type=radio name=r aria-label=Two onchange="document.title = 'two ' + checked">
    <div role=switch tabindex=0 aria-checked=false aria-label=Switch onclick="ariaChecked = ariaChecked !== 'true'; document.title = 'switch ' + ariaChecked">s</div>
    <label role=group aria-label=Terms><input type=checkbox style="display:none" onchange="document.title = 'terms ' + checked"><b>I agree</b></label>
    <input type=checkbox aria-label=Stubborn onclick="return false"><input type=checkbox aria-label=Off disabled>
    <button aria-label=Button>b</button>`

  t.test('boxes, radio buttons, switches, and boxes behind a label', async (t) => {
    const { act, find, title } = await deskAt(t, browser, boxes, { timeout })
    const check = (name: string, checked: boolean) =>
      find(`"${name}"`).then((at) => act({ action: 'check', at, checked }))
    for (const checked of [true, false]) {
      for (const name of ['Box', 'Switch', 'Terms']) {
        await check(name, checked)
        t.equal(await title(), `${name.toLowerCase()} ${checked}`)
      }
    }
    await check('Two', true)
    t.equal(await title(), 'two true')
    await check('Two', true)
  })

  t.test('what cannot be checked says why', async (t) => {
    const { act, find } = await deskAt(t, browser, boxes, { timeout })
    const reasons: [string, boolean, RegExp][] = [
      ['One', false, /by checking another/],
      ['Stubborn', true, /did not let it/],
      ['Off', true, /disabled/],
      ['Button', true, /no checkbox/]
    ]
    for (const [name, checked, message] of reasons) {
      await t.rejects(
        act({ action: 'check', at: await find(`"${name}"`), checked }),
        { ...failed, message },
        name
      )
    }
  })
})
