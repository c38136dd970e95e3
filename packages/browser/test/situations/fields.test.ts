import { playSituations, type Situation } from '../helpers/play-situation.ts'

// What an agent enters into an input of each type, and what becomes of it.
const entered: Readonly<Record<string, string>> = {
  text: 'two words',
  search: 'blue widget',
  email: 'ada@shop.example',
  tel: '+41 44 000 00 00',
  url: 'https://shop.example/a?b=c',
  number: '-3.5',
  date: '2027-03-31',
  time: '14:30',
  'datetime-local': '2027-03-31T14:30',
  month: '2027-03',
  week: '2027-W13',
  color: '#00ff00',
  range: '70'
}

const field = (attributes: string) =>
  `<label>Field <input ${attributes} oninput="document.title = type + ' is ' + value"></label>`

// In one form, so that each costs a step instead of a browser context.
const everyType: Situation = {
  pages: Object.keys(entered)
    .map((type) => field(`type=${type} step=any aria-label="The ${type}"`))
    .join(''),
  steps: Object.entries(entered).map(([type, text]) => ({
    do: 'type',
    on: `"The ${type}"`,
    with: { text },
    shows: `Title: ${type} is ${text}`
  }))
}

const situations: Readonly<Record<string, Situation>> = {
  'an input of each type that takes a text': everyType,
  'a password, which nothing shows': {
    pages: '<input type=password aria-label=Field>',
    steps: [
      { do: 'type', on: '"Field"', with: { text: 'hunter2' }, shows: /^(?![^]*hunter2)[^]*\[password\]/ }
    ]
  },
  'a date in another format, corrected by what the error says': {
    pages: field('type=date'),
    steps: [
      { do: 'type', on: '"Field"', with: { text: '31 March 2027' }, shows: 'YYYY-MM-DD' },
      { do: 'type', on: '"Field"', with: { text: '2027-03-31' }, shows: 'Title: date is 2027-03-31' }
    ]
  },
  'a checkbox and radio buttons': {
    pages: `<label><input type=checkbox onchange="document.title = 'gift ' + checked"> Gift</label>
      <label><input type=radio name=r> Post</label><label><input type=radio name=r onchange="document.title = 'courier'"> Courier</label>`,
    steps: [
      { do: 'check', on: 'checkbox "Gift"', with: { checked: true }, shows: 'Title: gift true' },
      { do: 'check', on: 'checkbox "Gift"', with: { checked: false }, shows: 'Title: gift false' },
      {
        do: 'check',
        on: 'radio "Courier"',
        with: { checked: true },
        shows: /Title: courier[^]*radio "Courier" \[checked/
      }
    ]
  },
  'a list of options, one and several': {
    pages: `<select aria-label=Size onchange="document.title = value"><option>S<option>M</select>
      <select aria-label=Extras multiple onchange="document.title = [...selectedOptions].map((o) => o.label)"><option>Nuts<option>Milk<option>Salt</select>`,
    steps: [
      { do: 'select', on: '"Size"', with: { values: ['XL'] }, shows: 'its options are "S", "M"' },
      { do: 'select', on: '"Size"', with: { values: ['M'] }, shows: 'Title: M' },
      { do: 'select', on: '"Extras"', with: { values: ['Nuts', 'Salt'] }, shows: 'Title: Nuts,Salt' }
    ]
  },
  'a text area with several lines': {
    pages: `<textarea aria-label=Note oninput="document.title = value.split('\\n').length + ' lines'"></textarea>`,
    steps: [
      { do: 'type', on: '"Note"', with: { text: 'Dear shop,\n\nplease hurry.\n' }, shows: 'Title: 4 lines' }
    ]
  },
  'rich text': {
    pages: `<div contenteditable role=textbox aria-label=Letter oninput="document.title = innerText.trim()"></div>`,
    steps: [{ do: 'type', on: '"Letter"', with: { text: 'Hello' }, shows: 'Title: Hello' }]
  },
  'suggestions of a field, one of them clicked': {
    pages: `<input aria-label=City list=cities oninput="document.title = value"><datalist id=cities><option>Bern</datalist>
      <input role=combobox aria-label=Street aria-expanded=false aria-controls=l oninput="setTimeout(suggest, 200)"><ul id=l role=listbox></ul>
      <script>const suggest = () => (l.innerHTML = '<li role=option onclick="document.title = textContent">Main Street</li>')</script>`,
    steps: [
      { do: 'type', on: '"City"', with: { text: 'Bern' }, shows: 'Title: Bern' },
      { do: 'type', on: '"Street"', with: { text: 'Ma' }, shows: 'option "Main Street"' },
      { do: 'click', on: 'option "Main Street"', shows: 'Title: Main Street' }
    ]
  },
  'a form that the browser refuses to send until it is whole': {
    pages: {
      '/': `<form action=/sent><input aria-label=Name name=name required><input type=image alt=Send></form>`,
      '/sent': '<h1>Thanks</h1>'
    },
    steps: [
      { do: 'click', on: 'button "Send"', shows: 'textbox "Name"' },
      {
        do: 'type',
        on: '"Name"',
        with: { text: 'Ada', submit: true },
        shows: /URL: .*\/sent\?name=Ada[^]*Thanks/
      },
      { do: 'back', shows: 'textbox "Name"' }
    ]
  },
  'a form that the server returns with faults': {
    pages:
      '<form method=post action=/order><input aria-label=Amount name=amount><button>Order</button></form>',
    other: (request, reply) => {
      request.resume().on('end', () => {
        reply
          .writeHead(422, { 'content-type': 'text/html' })
          .end('<p role=alert>The amount is missing</p><button type=reset>Reset</button>')
      })
    },
    steps: [{ do: 'click', on: '"Order"', shows: /HTTP status 422[^]*The amount is missing/ }]
  },
  'a password that the page puts into its title, its address and the next page': {
    pages: {
      '/': `<form action=/next><input type=password name=p aria-label=Word value="canary 12&3"><button>Send</button></form>
        <button onclick="document.title = 'T ' + document.querySelector('input').value; location.hash = document.querySelector('input').value">Show</button>`,
      '/next': '<p>Next page'
    },
    steps: [
      { do: 'click', on: '"Show"', shows: /^(?=[^]*Title: T \[password\])(?![^]*canary)/ },
      { do: 'click', on: '"Send"', shows: /^(?=[^]*\/next\?p=\[password\])(?![^]*canary)/ }
    ]
  },
  'fields that are off, read-only, or no fields': {
    pages:
      '<input aria-label=Off disabled><input aria-label=Fixed readonly value=1><p role=note aria-label=Text>text</p>',
    timeout: 1_000,
    steps: [
      { do: 'type', on: '"Off"', with: { text: 'x' }, shows: 'disabled' },
      { do: 'type', on: '"Fixed"', with: { text: 'x' }, shows: 'read-only' }
    ]
  }
}

playSituations('fields', situations)
