import { playSituations, type Situation } from '../helpers/play-situation.ts'

const curriculum = {
  type: 'file',
  mimeType: 'text/plain',
  filename: 'cv.txt',
  data: Buffer.from('I did things.').toString('base64')
} as const
const withFile = [{ type: 'text', text: 'Apply' }, curriculum] as const

const situations: Readonly<Record<string, Situation>> = {
  'an icon that has nothing but a listener': {
    pages: `<span id=i title=Cart style="display:inline-block;width:20px;height:20px;cursor:pointer;background:red"></span>
      <script>i.addEventListener('click', () => (document.title = 'cart'))</script>`,
    steps: [{ do: 'click', on: 'Cart', shows: 'Title: cart' }]
  },
  'a text that has nothing but a listener': {
    pages: `<div id=d style="cursor:pointer">Show more</div><script>d.onclick = () => (d.textContent = 'Shown')</script>`,
    steps: [{ do: 'click', on: 'Show more', shows: 'Shown' }]
  },
  'buttons in open shadow roots, one in the other': {
    pages: `<my-shop></my-shop><script>
      for (const [name, html] of [['my-buy', '<button onclick="document.title = \`bought\`">Buy</button>'], ['my-shop', '<p>Shop</p><my-buy></my-buy>']]) {
        customElements.define(name, class extends HTMLElement {
          constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = html }
        })
      }</script>`,
    steps: [{ do: 'click', on: 'button "Buy"', shows: 'Title: bought' }]
  },
  'a field in a shadow root, with its label slotted': {
    pages: `<my-field><b slot=label>Name</b></my-field><script>
      customElements.define('my-field', class extends HTMLElement {
        constructor() {
          super()
          this.attachShadow({ mode: 'open' }).innerHTML = '<label><slot name=label></slot><input onchange="document.title = value"></label>'
        }
      })</script>`,
    steps: [{ do: 'type', on: 'textbox', with: { text: 'Ada', submit: true }, shows: 'Title: Ada' }]
  },
  'a link that opens a tab, and the way back to the first': {
    pages: { '/': '<a href=/two target=_blank rel=noopener>Two</a>', '/two': '<h1>Second</h1>' },
    steps: [
      { do: 'click', on: 'link "Two"', shows: /Tabs: 0 .*, 1 \(current\) .*\/two[^]*Second/ },
      { do: 'tab', with: { index: 0 }, shows: 'link "Two"' },
      { do: 'tab', with: { index: 1, close: true }, shows: /^(?![^]*Tabs:)/ }
    ]
  },
  'a pop-up of a script, which closes itself': {
    pages: {
      '/': `<button onclick="window.open('/pop')">Sign in</button>`,
      '/pop': `<button onclick="opener.document.title = 'signed in'; window.close()">Allow</button>`
    },
    steps: [
      { do: 'click', on: '"Sign in"', shows: 'button "Allow"' },
      { do: 'click', on: '"Allow"', shows: 'Title: signed in' }
    ]
  },
  'a pop-up that closes itself while it is typed into': {
    pages: {
      '/': `<button onclick="window.open('/pop')">Sign in</button>`,
      '/pop': `<input aria-label=Code oninput="opener.document.title = 'signed in'; window.close()">`
    },
    steps: [
      { do: 'click', on: '"Sign in"', shows: '"Code"' },
      {
        do: 'type',
        on: '"Code"',
        with: { text: '0123456789012345678901234567890123456789' },
        shows: /^(?=[^]*The tab has closed; the current one is 0)[^]*Title: signed in/
      }
    ]
  },
  'a page that opens tabs without end': {
    pages: `<button onclick="for (let i = 0; i < 20; i++) window.open('about:blank')">Win</button>`,
    steps: [
      { do: 'click', on: '"Win"', shows: 'at most 5 may be open' },
      { do: 'tab', with: { index: 0 }, shows: 'button "Win"' }
    ]
  },
  'a file of the user for a field': {
    pages: `<input type=file aria-label=CV onchange="files[0].text().then((text) => (document.title = files[0].name + ' ' + text))">`,
    input: [...withFile],
    steps: [
      { do: 'upload', on: '"CV"', with: { files: ['/etc/passwd'] }, shows: 'sent no file "/etc/passwd"' },
      { do: 'upload', on: '"CV"', with: { files: ['cv.txt'] }, shows: 'Title: cv.txt I did things.' }
    ]
  },
  'a file of the user for a button that asks': {
    pages: `<button onclick="f.click()">Attach</button><input id=f type=file hidden onchange="document.title = files[0].name">`,
    input: [...withFile],
    steps: [{ do: 'upload', on: '"Attach"', with: { files: ['cv.txt'] }, shows: 'Title: cv.txt' }]
  },
  'a drop zone that is also a label': {
    pages: `<label role=button aria-label=Drop>Drop files here<input type=file style="display:none" onchange="document.title = files.length"></label>`,
    input: [...withFile],
    steps: [{ do: 'upload', on: '"Drop"', with: { files: ['cv.txt'] }, shows: 'Title: 1' }]
  },
  'cards dragged from list to list': {
    pages: `<div draggable=true role=button aria-label=Card ondragstart="event.dataTransfer.setData('text', 'card')" style="width:90px;height:40px">Card</div>
      <div role=button aria-label=Done style="width:200px;height:100px" ondragover="event.preventDefault()" ondrop="document.title = event.dataTransfer.getData('text') + ' done'">Done</div>`,
    steps: [{ do: 'drag', on: '"Card"', onto: '"Done"', shows: 'Title: card done' }]
  },
  'a slider drawn by the page': {
    pages: `<style>* { margin: 0 }</style><div role=button aria-label=Knob id=k style="width:40px;height:40px;position:absolute;background:red;touch-action:none">k</div>
      <div role=button aria-label=End style="width:40px;height:40px;position:absolute;left:300px;background:green">e</div><script>
        k.onpointerdown = (event) => k.setPointerCapture(event.pointerId)
        let moves = 0
        k.onpointermove = (event) => event.buttons && (document.title = (++moves > 4 ? 'drawn to ' : 'jumped to ') + Math.round(event.clientX))
      </script>`,
    steps: [{ do: 'drag', on: '"Knob"', onto: '"End"', shows: 'Title: drawn to 320' }]
  }
}

playSituations('acting', situations)
