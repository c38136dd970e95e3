import { playSituations, type Situation } from '../helpers/play-situation.ts'

const situations: Readonly<Record<string, Situation>> = {
  'refs of elements that a click replaced': {
    pages: `<div id=d><button onclick="d.innerHTML = '<button>New</button>'">Old</button></div>`,
    steps: [
      { do: 'click', on: '"Old"', shows: 'button "New"' },
      { do: 'click', on: '"Old"', shows: 'look again' },
      { do: 'click', on: '"New"', shows: 'button "New"' }
    ]
  },
  'refs of a list in another order': {
    pages: `<button onclick="list.prepend(list.lastElementChild)">Sort</button><ul id=list>
      <li><button onclick="document.title = 'alpha'">Alpha</button><li><button onclick="document.title = 'beta'">Beta</button></ul>`,
    steps: [
      { do: 'click', on: '"Sort"', shows: /Beta[^]*Alpha/ },
      { do: 'click', on: '"Beta"', shows: 'Title: beta' }
    ]
  },
  'refs of a page that was left': {
    pages: {
      '/': '<a href=/two>Two</a><button>Only here</button>',
      '/two': '<h1>Second</h1><button>Other</button>'
    },
    steps: [
      { do: 'click', on: 'link "Two"', shows: 'Second' },
      { do: 'click', on: '"Only here"', shows: 'look again' },
      { do: 'click', with: { ref: 'e99999' }, shows: 'look again' },
      { do: 'click', on: '"Other"', shows: 'Done: click' },
      { do: 'back', shows: 'Two' },
      { do: 'click', on: '"Other"', shows: 'look again' }
    ]
  },
  'a click that loads the same page again, which is a loop': {
    pages: '<button onclick="location.reload()">Again</button>',
    steps: [
      { do: 'click', on: '"Again"', shows: 'Done: click' },
      { do: 'click', on: '"Again"', shows: /button "Again" \[ref=(?!e2\])/ },
      { do: 'click', on: '"Again"', shows: 'The same action led to the same page 3 times' }
    ]
  },
  '10,000 elements, of which the last is reached': {
    pages: `<ul id=l></ul><script>
      l.innerHTML = Array.from({ length: 10000 }, (_, i) => '<li><button onclick="document.title = textContent">Item ' + (i + 1) + '</button>').join('')
    </script>`,
    steps: [
      { do: 'click', on: '"Item 3"', shows: 'Title: Item 3' },
      { do: 'press', with: { key: 'Control+End' }, shows: '"Item 10000"' },
      { do: 'click', on: '"Item 10000"', shows: 'Title: Item 10000' }
    ]
  }
}

playSituations('refs', situations)
