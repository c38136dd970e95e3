import { playSituations, type Situation } from '../helpers/play-situation.ts'

// A frame of another site, whose page is served by the same server.
const foreign = (path: string) =>
  `<script>document.write('<iframe src="http://localhost:' + location.port + '${path}" width=400 height=200></iframe>')</script>`

const situations: Readonly<Record<string, Situation>> = {
  'a form in a frame of the same site': {
    pages: {
      '/': '<h1>Shop</h1><iframe src=/pay title=Payment></iframe>',
      '/pay': `<input aria-label=Name><button onclick="parent.document.title = 'paid'">Pay</button>`
    },
    steps: [
      { do: 'type', on: 'textbox "Name"', with: { text: 'Ada' }, shows: ': Ada' },
      { do: 'click', on: 'button "Pay"', shows: 'Title: paid' }
    ]
  },
  'a form in a frame of another site': {
    pages: {
      '/': `<h1>Shop</h1>${foreign('/pay')}<script>onmessage = ({ data }) => (document.title = data)</script>`,
      '/pay': `<input aria-label=Name id=n><button onclick="parent.postMessage('paid by ' + n.value, '*')">Pay</button>`
    },
    steps: [
      { do: 'type', on: 'textbox "Name"', with: { text: 'Ada' }, shows: ': Ada' },
      { do: 'click', on: 'button "Pay"', shows: 'Title: paid by Ada' }
    ]
  },
  'frames in frames, of one site and another': {
    pages: {
      '/': `${foreign('/middle')}<script>onmessage = ({ data }) => (document.title = data)</script>`,
      '/middle': '<p>Middle</p><iframe src=/inner></iframe>',
      '/inner': `<button onclick="top.postMessage('deep', '*')">Deep</button>`
    },
    steps: [{ do: 'click', on: 'button "Deep"', shows: 'Title: deep' }]
  },
  'a frame that goes to another page, and is removed': {
    pages: {
      '/': `<iframe src=/one id=f></iframe><button onclick="f.remove()">Close</button>`,
      '/one': '<a href=/two>Next</a>',
      '/two': '<button>Last</button>'
    },
    steps: [
      { do: 'click', on: 'link "Next"', shows: 'button "Last"' },
      { do: 'click', on: 'link "Next"', shows: 'look again' },
      { do: 'click', on: 'button "Close"', shows: /^(?![^]*[^-] +- button "Last")/ },
      { do: 'click', on: 'button "Last"', shows: 'look again' }
    ]
  },
  'a frame with a document of its own text, in which one scrolls': {
    pages: `<iframe srcdoc="<div style='height:3000px'>Top</div><button onclick='parent.document.title = 1'>Accept</button>"></iframe>`,
    steps: [{ do: 'click', on: 'button "Accept"', shows: 'Title: 1' }]
  },
  'a frame of a host that is not allowed': {
    pages: `<iframe src="http://tracker.example/"></iframe><button onclick="document.title = 'works'">Continue</button>`,
    steps: [{ do: 'click', on: 'button "Continue"', shows: 'Title: works' }]
  },
  'a message of the page, and another after it': {
    pages: `<button onclick="alert('Saved'); alert('Really'); document.title = 'done'">Save</button>`,
    steps: [
      { do: 'click', on: 'button "Save"', shows: 'Dialog: alert "Saved"' },
      { do: 'dialog', with: { accept: true }, shows: 'Dialog: alert "Really"' },
      { do: 'dialog', with: { accept: true }, shows: 'Title: done' }
    ]
  },
  'a question answered with no, then with yes': {
    pages: `<button onclick="document.title = confirm('Remove it?')">Remove</button>`,
    steps: [
      { do: 'click', on: 'button "Remove"', shows: 'Dialog: confirm "Remove it?"' },
      { do: 'dialog', with: { accept: false }, shows: 'Title: false' },
      { do: 'click', on: 'button "Remove"', shows: 'Dialog: confirm' },
      { do: 'dialog', with: { accept: true }, shows: 'Title: true' }
    ]
  },
  'a question that wants a text': {
    pages: `<button onclick="document.title = prompt('Your name?', 'Nameless')">Sign</button>`,
    steps: [
      { do: 'click', on: 'button "Sign"', shows: 'Dialog: prompt "Your name?"' },
      { do: 'dialog', with: { accept: true, text: 'Ada' }, shows: 'Title: Ada' }
    ]
  },
  'a question that another action leaves behind': {
    pages: `<button onclick="document.title = confirm('Sure?')">Ask</button><button>Other</button>`,
    steps: [
      { do: 'click', on: 'button "Ask"', shows: 'Dialog: confirm' },
      { do: 'read', shows: 'Dialog: confirm' },
      {
        do: 'click',
        on: 'button "Other"',
        shows: /Title: false[^]*The confirm dialog was dismissed: "Sure\?"/
      },
      { do: 'dialog', with: { accept: true }, shows: 'no dialog' }
    ]
  },
  'a message while the page loads': {
    pages: `<script>alert('Welcome')</script><h1>Shop</h1>`,
    steps: [{ do: 'dialog', with: { accept: true }, shows: 'heading "Shop"' }]
  },
  'a page that asks before it is left': {
    pages: {
      '/': `<input aria-label=Text><a href=/two>Leave</a><script>onbeforeunload = (event) => event.preventDefault()</script>`,
      '/two': '<h1>Left</h1>'
    },
    steps: [
      { do: 'type', on: '"Text"', with: { text: 'draft' }, shows: 'draft' },
      { do: 'click', on: 'link "Leave"', shows: 'Dialog: beforeunload' },
      { do: 'dialog', with: { accept: false }, shows: 'textbox "Text"' },
      { do: 'click', on: 'link "Leave"', shows: 'Dialog: beforeunload' },
      { do: 'dialog', with: { accept: true }, shows: 'heading "Left"' }
    ]
  },
  'a dialog of a frame of another site': {
    pages: { '/': foreign('/inner'), '/inner': `<button onclick="alert('From inside')">Ask</button>` },
    steps: [
      { do: 'click', on: 'button "Ask"', shows: 'Dialog: alert "From inside"' },
      { do: 'dialog', with: { accept: true }, shows: 'button "Ask"' }
    ]
  },
  'a dialog drawn by the page, over all else': {
    pages: `<button onclick="document.title = 'behind'">Behind</button>
      <dialog id=d aria-label=Terms><button onclick="d.close('ok')">Agree</button></dialog><script>d.showModal()</script>`,
    timeout: 1_000,
    steps: [
      { do: 'click', on: 'button "Agree"', shows: 'button "Behind"' },
      { do: 'click', on: 'button "Behind"', shows: 'Title: behind' }
    ]
  }
}

playSituations('frames and dialogs', situations)
