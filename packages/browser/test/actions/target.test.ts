import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

t.test('targets', needsChromium, async (t) => {
  t.test('links, buttons and fields, and their forms', async (t) => {
    const { desk, find, origin } = await deskAt(
      t,
      browser,
      `<a href="/more?x=1" aria-label=More>more</a><a href=/file download aria-label=File>f</a>
      <form action=/order method=POST><input name=action aria-label=Name><input name=method>
        <input type=password aria-label=Word><button><i>Pay now</i></button><button type=button>Plain</button>
        <input type=submit value=Elsewhere formaction=https://other.example/x formmethod=get></form>
      <form method=dialog><button>Close</button></form><input type=checkbox aria-label=Box><button disabled>Free</button>
      <div role=switch aria-label=Light tabindex=0>l</div>`
    )
    const target = async (name: string) => desk.target(await find(`"${name}"`))
    const frameUrl = `${origin}/`
    const form = { method: 'post', action: `${origin}/order` }
    t.same(await target('More'), {
      frameUrl,
      tag: 'a',
      role: 'link',
      name: 'More',
      href: `${origin}/more?x=1`,
      isDownload: false
    })
    t.match(await target('File'), { href: `${origin}/file`, isDownload: true })
    t.same(await target('Name'), {
      frameUrl,
      tag: 'input',
      role: 'textbox',
      name: 'Name',
      type: 'text',
      form
    })
    t.match(await target('Word'), { type: 'password', form })
    t.same(await target('Pay now'), {
      frameUrl,
      tag: 'button',
      role: 'button',
      name: 'Pay now',
      type: 'submit',
      submits: true,
      form
    })
    const plain = await target('Plain')
    t.match(plain, { type: 'button', form })
    t.notOk(plain.submits)
    t.match(await target('Elsewhere'), {
      submits: true,
      form: { method: 'get', action: 'https://other.example/x' }
    })
    t.match(await target('Close'), { submits: true, form: { method: 'dialog' } })
    t.match(await target('Box'), { role: 'checkbox', type: 'checkbox', form: undefined })
    t.match(await target('Light'), { tag: 'div', role: 'switch', name: 'Light' })
  })

  t.test('what is inside of a button or a link counts as it, also in shadow roots and frames', async (t) => {
    const { desk, find, origin } = await deskAt(t, browser, {
      '/': `<style>* { margin: 0 }</style><a href=/whole style="position:absolute;left:0;top:0"><b style="display:block;width:80px;height:40px">whole</b></a>
        <form action=/sent><my-button style="position:absolute;left:0;top:100px"></my-button></form>
        <iframe src=/frame style="position:absolute;left:0;top:200px;border:5px solid"></iframe><script>
        customElements.define('my-button', class extends HTMLElement {
          constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '<button style="width:80px;height:40px"><b>Deep</b></button>' }
        })</script>`,
      '/frame': `<style>* { margin: 0 }</style><form method=post><button style="width:80px;height:40px">Framed</button></form>`
    })
    t.match(await desk.target({ x: 20, y: 20 }), { tag: 'a', href: `${origin}/whole` })
    t.match(await desk.target({ x: 20, y: 120 }), { tag: 'button', name: 'Deep' })
    const framed = { tag: 'button', name: 'Framed', submits: true, frameUrl: `${origin}/frame` }
    t.match(await desk.target({ x: 20, y: 225 }), framed)
    t.match(await desk.target(await find('"Framed"')), framed)
  })

  t.test('a page that redefines the DOM does not change the facts of its elements', async (t) => {
    const { desk, find, origin } = await deskAt(
      t,
      browser,
      `<form action=/pay method=post><button>Pay now</button></form><script>
        Element.prototype.closest = () => null
        Object.defineProperty(HTMLButtonElement.prototype, 'form', { get: () => null })
        Object.defineProperty(HTMLButtonElement.prototype, 'type', { get: () => 'button' })
        Object.defineProperty(HTMLElement.prototype, 'innerText', { get: () => 'Read more' })
      </script>`
    )
    t.match(await desk.target(await find('"Pay now"')), {
      name: 'Pay now',
      type: 'submit',
      submits: true,
      form: { method: 'post', action: `${origin}/pay` }
    })
  })

  t.test('an element that is gone is stale', async (t) => {
    const { desk } = await deskAt(t, browser, 'x')
    for (const ref of ['e999', 'f7e1', 'nonsense', '']) {
      await t.rejects(desk.target({ ref }), { code: 'RUN_ERR_BROWSER_STALE_REF' })
    }
  })
})
