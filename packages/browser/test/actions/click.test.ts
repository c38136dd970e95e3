import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())
const soon = { action: 3_000, navigation: 10_000 }
const failed = { code: 'RUN_ERR_BROWSER_ACTION_FAILED' }

t.test('clicks', needsChromium, async (t) => {
  t.test('left, right, middle, once, twice and thrice', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<button>Go</button><script>
        const log = (event) => (document.title = event.type + event.button + event.detail)
        for (const type of ['click', 'dblclick', 'contextmenu', 'auxclick']) addEventListener(type, log)
      </script>`
    )
    const at = await find('"Go"')
    await act({ action: 'click', at })
    t.equal(await title(), 'click01')
    await act({ action: 'click', at, count: 2 })
    t.equal(await title(), 'dblclick02')
    await act({ action: 'click', at, count: 3 })
    t.equal(await title(), 'click03')
    await act({ action: 'click', at, button: 'right' })
    t.match(await title(), /^(?:contextmenu|auxclick)2/)
    await act({ action: 'click', at, button: 'middle' })
    t.equal(await title(), 'auxclick11')
  })

  t.test('a disabled element says so, in one short line', async (t) => {
    const { act, find } = await deskAt(
      t,
      browser,
      `<button disabled>Off</button><button aria-disabled=true>Aria</button>
      <fieldset disabled><button>Within</button></fieldset>`,
      { timeout: soon }
    )
    for (const name of ['"Off"', '"Aria"', '"Within"']) {
      const clicked = act({ action: 'click', at: await find(name) })
      await t.rejects(clicked, { ...failed, message: /^The action failed: the element is disabled$/ }, name)
    }
  })

  const obstacles = {
    'is hidden': `button.style.visibility = 'hidden'`,
    'is covered by another one: dialog "Accept cookies"': `cover.style.display = 'block'`,
    // In each frame, however few of them a busy machine draws.
    'moves, or does not react': `(function move() {
      button.style.left = Math.random() * 300 + 'px'
      requestAnimationFrame(move)
    })()`,
    'is inert, as a dialog is open perhaps': `button.inert = true`,
    'is outside of the viewport, and cannot be scrolled into it': `button.style.position = 'fixed', button.style.left = '-500px'`
  }
  for (const [reason, script] of Object.entries(obstacles)) {
    t.test(`an element that ${reason}`, async (t) => {
      const { act, find } = await deskAt(
        t,
        browser,
        `<button onclick="${script}">Change</button>
        <button id=button style="position:absolute;left:50px;top:200px">Target</button>
        <div id=cover role=dialog style="display:none;position:absolute;left:0;top:150px;width:400px;height:200px;background:white">
        Accept cookies</div>`,
        { timeout: soon }
      )
      const at = await find('"Target"')
      await act({ action: 'click', at: await find('"Change"') })
      await t.rejects(act({ action: 'click', at }), {
        ...failed,
        message: `The action failed: the element ${reason}`
      })
    })
  }

  t.test('an element that goes away is stale: at once, or while it is clicked', async (t) => {
    const { act, find } = await deskAt(
      t,
      browser,
      `<button onclick="target.remove()">Remove</button><button id=target>Target</button>
      <button id=late disabled>Late</button><button onclick="setTimeout(() => late.remove(), 150)">Later</button>`
    )
    const target = await find('"Target"')
    const late = await find('"Late"')
    await act({ action: 'click', at: await find('"Remove"') })
    const stale = { code: 'RUN_ERR_BROWSER_STALE_REF' }
    const began = performance.now()
    await t.rejects(act({ action: 'click', at: target }), { ...stale, message: target.ref })
    await t.rejects(act({ action: 'click', at: { ref: 'e99999' } }), stale)
    await t.rejects(act({ action: 'click', at: { ref: 'f9e1' } }), stale)
    await t.rejects(act({ action: 'click', at: { ref: `${late.ref} >> xpath=..` } }), stale)
    t.ok(performance.now() - began < 4_000, 'without waiting for the time-out')
    await act({ action: 'click', at: await find('"Later"') })
    await t.rejects(act({ action: 'click', at: late }), stale)
  })

  t.test('waits for an element that becomes ready', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<button id=b disabled onclick="document.title = 'clicked'">Slow</button>
      <button onclick="setTimeout(() => (b.disabled = false), 300)">Ready</button>`
    )
    const at = await find('"Slow"')
    await act({ action: 'click', at: await find('"Ready"') })
    await act({ action: 'click', at })
    t.equal(await title(), 'clicked')
  })

  t.test('points: inside of frames and shadow roots, and only in the viewport', async (t) => {
    const { act, title, desk } = await deskAt(t, browser, {
      '/': `<style>* { margin: 0 }</style><div id=host></div><iframe src=/frame style="position:absolute;left:100px;top:100px;padding:10px"></iframe>
        <script>
          const root = host.attachShadow({ mode: 'closed' })
          root.innerHTML = '<button style="position:absolute;left:0;top:0;width:50px;height:50px">In</button>'
          root.querySelector('button').onclick = () => (document.title = 'closed root')
        </script>`,
      '/frame': `<style>* { margin: 0 }</style><input style="width:50px;height:20px" aria-label=Field oninput="parent.document.title = value">`
    })
    await act({ action: 'click', at: { x: 25, y: 25 } })
    t.equal(await title(), 'closed root')
    const field = { x: 120, y: 120 }
    t.match(await desk.target(field), { tag: 'input', name: 'Field', frameUrl: /\/frame$/ })
    await act({ action: 'type', at: field, text: 'x' })
    t.equal(await title(), 'x')
    for (const at of [
      { x: -1, y: 5 },
      { x: 5, y: 5_000 },
      { x: Number.NaN, y: 1 }
    ]) {
      await t.rejects(act({ action: 'click', at }), {
        ...failed,
        message: /outside of the viewport, which is \d+ wide/
      })
      await t.rejects(act({ action: 'hover', at }), failed)
      await t.rejects(desk.target(at), failed)
    }
  })

  t.test('hover opens a menu', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<style>ul { display: none } nav:hover ul { display: block }</style>
      <nav><b role=button>Menu</b><ul><li><button onclick="document.title = 'item'">Item</button></ul></nav>`
    )
    await act({ action: 'hover', at: await find('"Menu"') })
    await act({ action: 'click', at: await find('"Item"') })
    t.equal(await title(), 'item')
  })

  t.test('a page that hangs fails the action, and nothing else', async (t) => {
    const { act, find, origin } = await deskAt(t, browser, `<button onclick="while (true);">Hang</button>`, {
      timeout: soon
    })
    await t.rejects(act({ action: 'click', at: await find('"Hang"') }), {
      ...failed,
      message: 'The action failed: the page did not respond within 3000 ms'
    })
    await act({ action: 'open', url: `${origin}/`, newTab: true })
    await t.resolves(find('"Hang"'))
  })

  t.test('the signal ends an action at once, with its reason', async (t) => {
    const { act, find } = await deskAt(t, browser, `<button disabled>Off</button><button>On</button>`)
    const off = await find('"Off"')
    const on = await find('"On"')
    const reason = new Error('enough')
    const controller = new AbortController()
    const clicked = act({ action: 'click', at: off }, controller.signal)
    controller.abort(reason)
    t.equal(await clicked.catch((err: unknown) => err), reason)
    t.equal(await act({ action: 'click', at: on }, controller.signal).catch((err: unknown) => err), reason)
    await act({ action: 'click', at: on })
  })
})
