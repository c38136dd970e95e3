import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())
const failed = { code: 'RUN_ERR_BROWSER_ACTION_FAILED' }

t.test('dragging', needsChromium, async (t) => {
  t.test('drag and drop of HTML, by ref and by point', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<style>* { margin: 0 } div { width: 100px; height: 100px; position: absolute }</style>
      <div draggable=true role=button aria-label=Card ondragstart="event.dataTransfer.setData('text', 'card')">Card</div>
      <div role=button aria-label=Bin style="left:200px" ondragover="event.preventDefault()"
        ondrop="document.title += event.dataTransfer.getData('text')">Bin</div>`
    )
    await act({ action: 'drag', from: await find('"Card"'), to: await find('"Bin"') })
    t.equal(await title(), 'card')
    await act({ action: 'drag', from: { x: 50, y: 50 }, to: { x: 250, y: 50 } })
    t.equal(await title(), 'cardcard')
    await t.rejects(act({ action: 'drag', from: await find('"Card"'), to: { x: 9_999, y: 0 } }), failed)
    await t.rejects(act({ action: 'drag', from: await find('"Card"'), to: { ref: 'e999' } }), {
      code: 'RUN_ERR_BROWSER_STALE_REF'
    })
  })

  t.test('pages that follow the pointer, also to a target that must be scrolled to', async (t) => {
    const { act, find, title } = await deskAt(
      t,
      browser,
      `<style>* { margin: 0 }</style><div id=knob role=slider aria-label=Knob style="width:50px;height:50px;background:red">k</div>
      <div style="height:3000px"></div><div role=button aria-label=Goal id=goal style="width:50px;height:50px">g</div><script>
        knob.onpointerdown = () => {
          onpointermove = (event) => (document.title = 'at ' + document.elementFromPoint(event.clientX, event.clientY)?.id)
          onpointerup = () => { onpointermove = null; document.title += ' dropped' }
        }
      </script>`
    )
    await act({ action: 'drag', from: await find('"Knob"'), to: await find('"Goal"') })
    t.equal(await title(), 'at goal dropped')
  })
})

t.test('scrolling', needsChromium, async (t) => {
  const tall = '<p style="height:5000px;width:5000px">tall</p>'
  const position = `<script>addEventListener('scroll', (event) => {
    const box = event.target === document ? document.scrollingElement : event.target
    document.title = (box.id || 'page') + ' ' + Math.round(box.scrollLeft) + ' ' + Math.round(box.scrollTop)
  }, true)</script>`

  t.test('the page, in every direction, until it ends', async (t) => {
    const { act, title } = await deskAt(t, browser, tall + position)
    t.same((await act({ action: 'scroll', direction: 'down', pages: 2 })).notices, [])
    t.match(await title(), /^page 0 1\d\d\d$/)
    await act({ action: 'scroll', direction: 'right' })
    t.match(await title(), /^page 1\d\d\d 1\d\d\d$/)
    await act({ action: 'scroll', direction: 'up', pages: 100 })
    await act({ action: 'scroll', direction: 'left', pages: 0.1 })
    t.match(await title(), /^page 1\d\d\d 0$/)
    t.same((await act({ action: 'scroll', direction: 'up' })).notices, ['It does not scroll further up'])
  })

  t.test('a box around an element, then the page; or the only box that scrolls', async (t) => {
    const { act, find, title, origin } = await deskAt(t, browser, {
      '/': `<div id=box style="height:200px;overflow:auto"><button>In</button><p style="height:300px">x</div>${tall}${position}`,
      '/app': `<style>html, body { overflow: hidden; height: 100% }</style><nav style="overflow:auto;height:50px">${tall}</nav>
        <main id=main style="overflow:auto;height:80%">${tall}</main>${position}`
    })
    const at = await find('"In"')
    await act({ action: 'scroll', at, direction: 'down' })
    t.match(await title(), /^box 0 1\d\d$/)
    await act({ action: 'scroll', at, direction: 'down' })
    t.match(await title(), /^(?:page|box) 0 \d+$/)
    await act({ action: 'scroll', at, direction: 'down' })
    t.match(await title(), /^page 0 \d+$/)
    await act({ action: 'open', url: `${origin}/app` })
    await act({ action: 'scroll', direction: 'down' })
    t.match(await title(), /^main 0 \d+$/)
  })

  t.test('lists that grow while they are scrolled', async (t) => {
    const { act, text } = await deskAt(
      t,
      browser,
      `<ul id=list></ul><p id=end>.</p><script>
        let count = 0
        const more = () => { for (let i = 0; i < 20; i++) list.insertAdjacentHTML('beforeend', '<li style="height:60px">Row ' + ++count) }
        new IntersectionObserver(([entry]) => entry.isIntersecting && fetch('/more').then(more)).observe(end)
      </script>`,
      { other: (_request, reply) => setTimeout(() => reply.end(), 50) }
    )
    for (const _ of [1, 2, 3]) await act({ action: 'scroll', direction: 'down', pages: 3 })
    t.match(await text(), 'Row 40')
  })
})

t.test('waiting', needsChromium, async (t) => {
  const page = {
    '/': `<p id=p>Loading</p><iframe src=/frame></iframe><script>
      setTimeout(() => (p.innerHTML = 'All <b>done</b>'), 400)
    </script>`,
    '/frame': `<p id=p></p><script>setTimeout(() => (p.textContent = 'framed'), 400)</script>`
  }
  const timeout = { action: 2_000, navigation: 5_000 }

  t.test('for a text, also in a frame, and for its end', async (t) => {
    const { act, text } = await deskAt(t, browser, page, { timeout })
    await act({ action: 'wait', text: 'all done' })
    await act({ action: 'wait', text: 'framed' })
    await act({ action: 'wait', gone: 'Loading' })
    t.match(await text(), 'framed')
  })

  t.test('not longer than an action may take', async (t) => {
    const { act } = await deskAt(t, browser, page, { timeout: { action: 600, navigation: 5_000 } })
    await t.rejects(act({ action: 'wait', text: 'nothing' }), {
      ...failed,
      message: 'The action failed: "nothing" did not appear after 600 ms'
    })
    await t.rejects(act({ action: 'wait', text: 'nothing', time: 50 }), { ...failed, message: 'after 50 ms' })
    await t.rejects(act({ action: 'wait', gone: 'All done', time: 50 }), {
      ...failed,
      message: 'is still there after 50 ms'
    })
    await act({ action: 'wait', time: 60_000 })
    await act({ action: 'wait' })
  })

  t.test('it ends with the signal', async (t) => {
    const { act } = await deskAt(t, browser, page)
    const controller = new AbortController()
    const reason = new Error('enough')
    for (const action of [{ action: 'wait' }, { action: 'wait', text: 'nothing' }] as const) {
      const waited = act(action, controller.signal)
      setImmediate(() => controller.abort(reason))
      t.equal(await waited.catch((err: unknown) => err), reason)
    }
  })
})
