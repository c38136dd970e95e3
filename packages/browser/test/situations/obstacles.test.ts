import { playSituations, type Situation } from '../helpers/play-situation.ts'

const cover = 'position:fixed;inset:0;background:#fff'

const situations: Readonly<Record<string, Situation>> = {
  'a banner over everything, closed first': {
    pages: `<button onclick="document.title = 'bought'">Buy</button>
      <div role=region aria-label=Cookies id=o style="${cover}">We use cookies <button onclick="o.remove()">Accept</button></div>`,
    timeout: 1_500,
    steps: [
      { do: 'click', on: '"Buy"', shows: 'covered by another one: region "We use cookies Accept"' },
      { do: 'click', on: '"Accept"', shows: 'Done: ' },
      { do: 'click', on: '"Buy"', shows: 'Title: bought' }
    ]
  },
  'a veil that goes away by itself': {
    pages: `<button onclick="document.title = 'bought'">Buy</button><button onclick="veil()">Load</button><script>
      const veil = () => {
        document.body.insertAdjacentHTML('beforeend', '<div id=o style="${cover};opacity:.5"></div>')
        setTimeout(() => o.remove(), 500)
      }</script>`,
    steps: [
      { do: 'click', on: '"Load"', shows: 'Done: ' },
      { do: 'click', on: '"Buy"', shows: 'Title: bought' }
    ]
  },
  'a layer that lets clicks through': {
    pages: `<button onclick="document.title = 'bought'">Buy</button><div style="${cover};background:none;pointer-events:none"></div>`,
    steps: [{ do: 'click', on: '"Buy"', shows: 'Title: bought' }]
  },
  'a bar that stays at the top, over what is scrolled to': {
    pages: `<header style="position:fixed;top:0;left:0;right:0;height:120px;background:#fff">Shop</header>
      <main style="height:2000px;padding-top:130px">Text</main><button onclick="document.title = 'end'">End</button><main style="height:2000px"></main>`,
    steps: [
      { do: 'scroll', with: { direction: 'down', pages: 5 }, shows: /[1-9].\d viewports above/ },
      { do: 'click', on: '"End"', shows: 'Title: end' }
    ]
  },
  'a box that its label covers': {
    pages: `<label style="position:relative;display:inline-block;padding:4px"><input type=checkbox style="opacity:0;position:absolute" onchange="document.title = checked">
      <span style="position:absolute;inset:0;background:#eee"></span>Newsletter</label>`,
    steps: [{ do: 'check', on: 'checkbox "Newsletter"', with: { checked: true }, shows: 'Title: true' }]
  },
  'an element that the page keeps moving': {
    pages: `<style>@keyframes away { to { transform: translateX(400px) } } #b { animation: away .3s infinite alternate linear }</style>
      <button id=b>Catch</button><button onclick="b.style.animation = 'none'">Stop</button>`,
    timeout: 1_500,
    steps: [
      { do: 'click', on: '"Catch"', shows: 'the element moves, or does not react' },
      { do: 'click', on: '"Stop"', shows: 'Done: ' },
      { do: 'click', on: '"Catch"', shows: /^Done: click/ }
    ]
  },
  'a page that stops responding at a click': {
    pages: { '/': '<button onclick="while (true);">Freeze</button>', '/two': '<h1>Still here</h1>' },
    timeout: 2_000,
    steps: [
      { do: 'click', on: '"Freeze"', shows: 'did not' },
      { do: 'click', on: '"Freeze"', shows: 'did not' },
      { do: 'open', open: '/two', with: { newTab: true }, shows: 'heading "Still here"' }
    ]
  },
  'a page that changes all the time': {
    pages: `<p id=p></p><button onclick="document.title = 'clicked'">Go</button><script>setInterval(() => (p.textContent = performance.now()), 1)</script>`,
    steps: [{ do: 'click', on: '"Go"', shows: 'Title: clicked' }]
  },
  'a page that is busy for a second': {
    pages: `<button onclick="const end = performance.now() + 1000; while (performance.now() < end); document.title = 'ready'">Compute</button>`,
    steps: [{ do: 'click', on: '"Compute"', shows: 'Title: ready' }]
  }
}

playSituations('obstacles', situations)
