import { playSituations, type Situation } from '../helpers/play-situation.ts'

const situations: Readonly<Record<string, Situation>> = {
  'a file behind a link': {
    pages: { '/': '<a href=/orders.csv>Orders</a>' },
    other: (_request, reply) =>
      reply
        .writeHead(200, { 'content-type': 'text/csv', 'content-disposition': 'attachment' })
        .end('id\n1\n'),
    steps: [{ do: 'download', on: 'link "Orders"', shows: /Downloaded\.[^]*orders\.csv/ }]
  },
  'a file that the page makes, by an ordinary click': {
    pages: `<button id=b>Export</button><script>
      b.onclick = () => {
        const link = document.createElement('a')
        link.href = URL.createObjectURL(new Blob(['a,b'], { type: 'text/csv' }))
        link.download = 'export.csv'
        link.click()
      }</script>`,
    steps: [{ do: 'click', on: 'button "Export"', shows: 'export.csv' }]
  },
  'a file in a tab of its own, with a name that leaves the folder': {
    pages: { '/': '<a href=/file target=_blank>Report</a>' },
    other: (_request, reply) =>
      reply
        .writeHead(200, {
          'content-type': 'text/csv',
          'content-disposition': 'attachment; filename="../../etc/passwd.csv"'
        })
        .end('a'),
    steps: [
      { do: 'download', on: 'link "Report"', shows: /^(?![^]*\.\.\/)[^]*Downloaded\.[^]*passwd\.csv/ },
      { do: 'tab', with: { index: 0 }, shows: 'link "Report"' }
    ]
  },
  'a link that offers no file, and one of a type that is not allowed': {
    pages: { '/': '<a href="#no">Nothing</a><a href=/setup.exe>Setup</a>' },
    other: (_request, reply) =>
      reply
        .writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' })
        .end('MZ'),
    steps: [
      { do: 'download', on: 'link "Nothing"', shows: 'the page offered no file' },
      { do: 'download', on: 'link "Setup"', shows: /setup\.exe[^]*not/ }
    ]
  },
  'a feed that grows as one scrolls': {
    pages: `<ul id=l></ul><div id=end>loading</div><script>
      const more = () => {
        for (let i = 0; i < 10; i++) l.insertAdjacentHTML('beforeend', '<li style="height:100px"><button>Post ' + (l.children.length + 1) + '</button>')
      }
      more()
      new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && l.children.length < 40 && more(), { rootMargin: '300px' }).observe(end)
      l.onclick = ({ target }) => (document.title = target.textContent)</script>`,
    steps: [
      { do: 'scroll', with: { direction: 'down', pages: 5 }, shows: 'Done: scroll' },
      { do: 'wait', with: { text: 'Post 30' }, shows: 'Done: wait' },
      { do: 'scroll', with: { direction: 'down', pages: 5 }, shows: 'Done: scroll' },
      { do: 'wait', with: { text: 'Post 40' }, shows: 'Done: wait' },
      { do: 'click', on: '"Post 35"', shows: 'Title: Post 35' }
    ]
  },
  'a feed whose next part comes from the server, until there is no more': {
    pages: {
      '/': `<div id=l><p style="height:1500px">Part 1</p></div><script>
        let part = 1, isLoading = false
        document.onscroll = async () => {
          if (isLoading || part === 3 || scrollY + innerHeight < l.scrollHeight - 100) return
          isLoading = true
          l.insertAdjacentHTML('beforeend', await (await fetch('/part' + ++part)).text())
          isLoading = false
        }</script>`,
      '/part2': '<p style="height:1500px">Part 2</p>',
      '/part3': '<p style="height:1500px">Part 3</p>'
    },
    steps: [
      { do: 'scroll', with: { direction: 'down', pages: 20 }, shows: 'Part 2' },
      { do: 'scroll', with: { direction: 'down', pages: 20 }, shows: 'Part 3' },
      { do: 'scroll', with: { direction: 'down', pages: 20 }, shows: 'Done: scroll' },
      { do: 'scroll', with: { direction: 'down' }, shows: 'It does not scroll further down' }
    ]
  },
  'a list that only has the rows in sight': {
    pages: `<div id=box tabindex=0 aria-label=Rows role=list style="height:300px;overflow-y:auto;position:relative"><div style="height:30000px"></div></div><main style="height:3000px"></main><script>
      const draw = () => {
        for (const each of box.querySelectorAll('button')) each.remove()
        const first = Math.floor(box.scrollTop / 30)
        for (let i = first; i < first + 10; i++) {
          const row = box.appendChild(document.createElement('button'))
          row.textContent = 'Row ' + i
          row.style = 'position:absolute;left:0;top:' + i * 30 + 'px'
          row.onclick = () => (document.title = row.textContent)
        }
      }
      box.onscroll = draw
      draw()</script>`,
    steps: [
      { do: 'scroll', on: '"Rows"', with: { direction: 'down', pages: 10 }, shows: /"Row 9\d"/ },
      { do: 'click', on: '"Row 95"', shows: 'Title: Row 95' }
    ]
  },
  'a list that a button makes longer': {
    pages: `<ul id=l><li>Item 1</ul><button onclick="setTimeout(() => l.insertAdjacentHTML('beforeend', '<li>Item ' + (l.children.length + 1)), 400)">More</button>`,
    steps: [
      { do: 'click', on: '"More"', shows: 'Done: click' },
      { do: 'wait', with: { text: 'Item 2' }, shows: 'Done: wait' },
      { do: 'click', on: '"More"', shows: 'Done: click' },
      { do: 'wait', with: { text: 'Item 3' }, shows: 'Done: wait' },
      { do: 'find', with: { text: 'Item' }, shows: '3 lines have the text' }
    ]
  },
  'a result that comes late, after a sign that it loads': {
    pages: {
      '/': `<button onclick="r.textContent = 'Loading'; fetch('/slow').then(async (answer) => (r.innerHTML = await answer.text()))">Search</button><div id=r></div>`
    },
    other: (_request, reply) =>
      void setTimeout(() => reply.end(`<button onclick="document.title = 'found'">Result</button>`), 400),
    steps: [
      { do: 'click', on: '"Search"', shows: 'Done: click' },
      { do: 'wait', with: { gone: 'Loading' }, shows: 'Done: wait' },
      { do: 'click', on: 'button "Result"', shows: 'Title: found' }
    ]
  },
  'a text that never comes': {
    pages: '<p>Static</p>',
    steps: [
      { do: 'wait', with: { text: 'Dynamic', time: 50 }, shows: '"Dynamic" did not appear after 50 ms' }
    ]
  },
  'a button that is off until the page is ready': {
    pages: `<button id=b disabled onclick="document.title = 'sent'">Send</button><button onclick="setTimeout(() => (b.disabled = false), 300)">Start</button>`,
    steps: [
      { do: 'click', on: '"Start"', shows: 'Done: ' },
      { do: 'click', on: '"Send"', shows: 'Title: sent' }
    ]
  },
  'a panel that slides in': {
    pages: `<style>@keyframes in { from { transform: translateX(-600px) } } #p[open] { animation: in .4s }</style>
      <button onclick="p.setAttribute('open', ''); p.hidden = false">Menu</button><div id=p hidden><button onclick="document.title = 'home'">Home</button></div>`,
    steps: [
      { do: 'click', on: '"Menu"', shows: 'button "Home"' },
      { do: 'click', on: '"Home"', shows: 'Title: home' }
    ]
  },
  'details that are folded, and a tab that is not chosen': {
    pages: `<details><summary>More</summary><p>Folded text</p></details>
      <div role=tablist><button role=tab onclick="p.hidden = false">Reviews</button></div><div role=tabpanel id=p hidden>Five stars</div>`,
    steps: [
      { do: 'click', on: '"More"', shows: 'Folded text' },
      { do: 'click', on: 'tab "Reviews"', shows: 'Five stars' }
    ]
  },
  'pictures and parts that load when they come into sight': {
    pages: {
      '/': `<main style="height:3000px">Top</main><section id=s></section><script>
        new IntersectionObserver(async ([{ isIntersecting }]) => {
          if (isIntersecting) s.innerHTML = await (await fetch('/late')).text()
        }).observe(s)</script><footer style="height:200px"></footer>`,
      '/late': `<button onclick="document.title = 'late'">Late</button>`
    },
    steps: [
      { do: 'scroll', with: { direction: 'down', pages: 10 }, shows: 'button "Late"' },
      { do: 'click', on: '"Late"', shows: 'Title: late' }
    ]
  }
}

playSituations('loading', situations)
