import { playSituations, type Situation } from '../helpers/play-situation.ts'

const listbox = `<style>#l { position: absolute; margin: 0 }</style>
  <div role=combobox tabindex=0 aria-label=Size aria-haspopup=listbox aria-expanded=false aria-controls=l id=c>Choose</div>
  <ul role=listbox aria-label=Sizes id=l hidden><li role=option>Small<li role=option>Medium<li role=option>Large</ul><script>
    const show = (open) => { l.hidden = !open; c.setAttribute('aria-expanded', open) }
    c.onclick = () => show(l.hidden)
    document.onkeydown = (event) => event.key === 'Escape' && show(false)
    l.onclick = (event) => { document.title = c.textContent = event.target.textContent; show(false) }
  </script>`

const situations: Readonly<Record<string, Situation>> = {
  'a list that a click opens': {
    pages: listbox,
    steps: [
      { do: 'click', on: 'combobox "Size"', shows: 'option "Medium"' },
      { do: 'click', on: 'option "Medium"', shows: 'Title: Medium' }
    ]
  },
  'a list drawn by the page, by the action for lists': {
    pages: listbox,
    steps: [
      { do: 'select', on: 'combobox "Size"', with: { values: ['Large'] }, shows: 'Title: Large' },
      {
        do: 'select',
        on: 'combobox "Size"',
        with: { values: ['Huge'] },
        shows: 'there is no option "Huge"; its options are "Small", "Medium", "Large"'
      },
      { do: 'select', on: 'combobox "Size"', with: { values: ['Small'] }, shows: 'Title: Small' }
    ]
  },
  'a list that is always open, with several choices': {
    pages: `<ul role=listbox aria-label=Toppings aria-multiselectable=true id=l>
      <li role=option aria-selected=false>Nuts<li role=option aria-selected=false>Milk<li role=option aria-selected=false>Salt</ul><script>
      l.onclick = ({ target }) => {
        target.setAttribute('aria-selected', target.ariaSelected !== 'true')
        document.title = Array.from(l.querySelectorAll('[aria-selected=true]'), (each) => each.textContent).join('+')
      }</script>`,
    steps: [
      {
        do: 'select',
        on: 'listbox "Toppings"',
        with: { values: ['Nuts', 'Salt'] },
        shows: /Title: Nuts\+Salt[^]*"Salt" \[selected\]/
      }
    ]
  },
  'a menu of a button, by keyboard': {
    pages: `<button aria-haspopup=menu aria-expanded=false id=b>Actions</button><div role=menu id=m hidden>
      <div role=menuitem tabindex=-1>Copy</div><div role=menuitem tabindex=-1>Remove</div></div><script>
      b.onkeydown = ({ key }) => { if (key === 'ArrowDown') { m.hidden = false; m.firstElementChild.focus() } }
      m.onkeydown = ({ key, target }) => {
        if (key === 'ArrowDown') target.nextElementSibling.focus()
        if (key === 'Enter') { document.title = target.textContent; m.hidden = true }
      }</script>`,
    steps: [
      { do: 'press', on: 'button "Actions"', with: { key: 'ArrowDown' }, shows: 'menuitem "Copy" [active]' },
      { do: 'press', with: { key: 'ArrowDown' }, shows: 'menuitem "Remove" [active]' },
      { do: 'press', with: { key: 'Enter' }, shows: 'Title: Remove' }
    ]
  },
  'a menu with another in it, which the pointer opens': {
    pages: `<style>.sub { display: none; position: absolute; left: 90px; margin: 0 } li:hover > .sub { display: block } li { width: 90px }</style>
      <ul><li><span tabindex=0>Shop</span><ul class=sub><li><a href="#books">Books</a></ul></ul>`,
    steps: [
      { do: 'hover', on: '"Shop"', shows: 'link "Books"' },
      { do: 'click', on: 'link "Books"', shows: /URL: .*#books/ }
    ]
  },
  'a drop-down of elements that have nothing but listeners': {
    pages: `<div id=c style="cursor:pointer">Choose a color</div><div id=l></div><script>
      c.addEventListener('click', () => {
        l.innerHTML = '<div>Red</div><div>Blue</div>'
        for (const each of l.children) each.addEventListener('mousedown', () => (document.title = each.textContent))
      })</script>`,
    steps: [
      { do: 'click', on: '"Choose a color"', shows: 'clickable "Blue"' },
      { do: 'click', on: 'clickable "Blue"', shows: 'Title: Blue' }
    ]
  },
  'a list at the end of the page, filtered while one types': {
    pages: `<input role=combobox aria-label=Country aria-expanded=false id=c><main style="height:2000px"></main>
      <ul role=listbox id=l style="position:absolute;top:40px"></ul><script>
      c.oninput = () => {
        const found = ['Chad', 'Chile', 'China'].filter((name) => name.toLowerCase().startsWith(c.value.toLowerCase()))
        l.innerHTML = found.map((name) => '<li role=option>' + name).join('')
      }
      l.onclick = (event) => (document.title = event.target.textContent)</script>`,
    steps: [
      { do: 'type', on: '"Country"', with: { text: 'Chi' }, shows: /^(?![^]*"Chad")[^]*option "China"/ },
      { do: 'type', with: { text: 'l', append: true }, shows: /combobox "Country".*: Chil/ },
      { do: 'click', on: 'option "Chile"', shows: 'Title: Chile' }
    ]
  },
  'options in groups, of which one is off': {
    pages: `<select aria-label=Car onchange="document.title = value"><option value=""><optgroup label=Fast><option value=f1>Racer</optgroup>
      <optgroup label=Sold disabled><option>Van</optgroup></select>`,
    steps: [
      { do: 'select', on: '"Car"', with: { values: ['Van'] }, shows: 'disabled' },
      { do: 'select', on: '"Car"', with: { values: ['racer'] }, shows: 'Title: f1' }
    ]
  },
  'a calendar that fills a field': {
    pages: `<input aria-label=Arrival readonly id=f><button aria-label="Open calendar" onclick="g.hidden = false">📅</button>
      <table role=grid id=g hidden><tr><td role=gridcell aria-disabled=true>30<td role=gridcell tabindex=0>31</table><script>
      g.onclick = ({ target }) => { if (!target.ariaDisabled) { document.title = f.value = 'day ' + target.textContent; g.hidden = true } }</script>`,
    timeout: 2_000,
    steps: [
      { do: 'type', on: '"Arrival"', with: { text: '31' }, shows: 'read-only' },
      { do: 'click', on: '"Open calendar"', shows: 'gridcell "31"' },
      { do: 'click', on: 'gridcell "31"', shows: 'Title: day 31' }
    ]
  },
  'an icon of an icon font, known by its class only': {
    pages: `<i class="icon-trash" id=i style="display:inline-block;width:16px;height:16px"></i>
      <script>i.addEventListener('click', () => (document.title = 'removed'))</script>`,
    steps: [{ do: 'click', on: 'class="icon-trash"', shows: 'Title: removed' }]
  },
  'a drawn icon in a link, and one with a listener': {
    pages: `<a href="#home"><svg width=20 height=20 class=home><path d="M0 0h20v20H0z"/></svg></a>
      <svg width=20 height=20 class=star id=s><path d="M0 0h20v20H0z"/></svg>
      <script>s.addEventListener('click', () => (document.title = 'starred'))</script>`,
    steps: [
      { do: 'click', on: 'class="star"', shows: 'Title: starred' },
      { do: 'click', on: 'class="home"', shows: /URL: .*#home/ }
    ]
  },
  'rows whose clicks are handled by the page as a whole': {
    pages: `<style>.row { cursor: pointer }</style><div class=row data-id=1>First</div><div class=row data-id=2>Second</div>
      <script>document.addEventListener('click', ({ target }) => (document.title = 'row ' + target.dataset.id))</script>`,
    steps: [{ do: 'click', on: 'clickable "Second"', shows: 'Title: row 2' }]
  }
}

playSituations('drop-downs and icons', situations)
