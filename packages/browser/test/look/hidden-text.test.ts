import t from 'tap'
import { takeLook } from '../../src/look/take-look.ts'
import { launchPlain, needsChromium } from '../helpers/chromium.ts'

const TAGS = Array.from(Buffer.from('hidden'), (byte) => String.fromCodePoint(0xe0000 + byte)).join('')
const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

const HIDDEN: Record<string, string> = {
  'display none': '<p style="display: none">SECRET</p>',
  'visibility hidden': '<p style="visibility: hidden">SECRET</p>',
  'opacity 0': '<p style="opacity: 0">SECRET</p>',
  'opacity 0 of an ancestor': '<div style="opacity: 0.01"><p>SECRET</p></div>',
  'zero size': '<div style="width: 0; height: 0; overflow: hidden">SECRET</div>',
  'one pixel': '<p style="width: 1px; height: 1px; overflow: hidden">SECRET</p>',
  'zero height': '<div style="height: 0; overflow: hidden"><p>SECRET</p></div>',
  'off screen to the left': '<p style="position: absolute; left: -9999px">SECRET</p>',
  'off screen above': '<p style="position: fixed; top: -200px">SECRET</p>',
  'text-indent': '<p style="text-indent: -9999px">SECRET</p>',
  'transform to the side': '<p style="transform: translateX(-9999px)">SECRET</p>',
  'scale 0': '<p style="transform: scale(0)">SECRET</p>',
  clip: '<p style="position: absolute; clip: rect(0, 0, 0, 0)">SECRET</p>',
  'clip-path': '<p style="clip-path: inset(50%)">SECRET</p>',
  'font-size 0': '<p style="font-size: 0">SECRET</p>',
  transparent: '<p style="color: transparent">SECRET</p>',
  'colour of the background': '<p style="color: #fff">SECRET</p>',
  'nearly the colour of the background':
    '<div style="background: #111"><p style="color: #141414">SECRET</p></div>',
  'inline between words': '<p>seen <span style="opacity: 0">SECRET</span> seen</p>',
  'a pseudo-element': '<style>#p::after { content: "SECRET"; opacity: 0 }</style><p id="p">seen</p>',
  'invisible characters': `<p>seen${TAGS}</p>`,
  'a frame of one pixel':
    '<iframe style="width: 1px; height: 1px; border: 0" srcdoc="<p>SECRET</p>"></iframe>',
  'a comment, a script, a template': '<!-- SECRET --><script>/* SECRET */</script><template>SECRET</template>'
}

const SEEN: Record<string, string> = {
  'plain text': '<p>SHOWN</p>',
  'white upon black': '<div style="background: #000"><p style="color: #fff">SHOWN</p></div>',
  'white upon an image': `<div style="position: relative"><img src="${PIXEL}" width="300" height="40"><b style="position: absolute; top: 0; left: 0; color: #fff">SHOWN</b></div>`,
  'white upon a background image': `<div style="background: url(${PIXEL})"><p style="color: #fff">SHOWN</p></div>`,
  'a gradient as text':
    '<h1 style="background: linear-gradient(red, blue); background-clip: text; color: transparent">SHOWN</h1>',
  'below the fold': '<p style="margin-top: 3000px">SHOWN</p>',
  'scrolled away in a box':
    '<div style="height: 50px; overflow: auto"><p style="height: 500px">x</p><p>SHOWN</p></div>',
  'aria-hidden, since people see it': '<p aria-hidden="true">SHOWN</p>',
  'aria-label': '<button aria-label="SHOWN">x</button>',
  'the hidden name of an icon':
    '<button><span style="position: absolute; width: 1px; height: 1px; overflow: hidden">SHOWN</span></button>',
  'a hidden label': '<label style="opacity: 0">SHOWN <input></label>',
  'the beginning of text with an ellipsis':
    '<p style="width: 60px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis">SHOWN and a lot more text</p>',
  'an emoji of several characters': '<p>SHOWN 👩‍👧 ❤️</p>'
}

t.test('hidden text', needsChromium, async (t) => {
  const browser = await launchPlain()
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const see = async (html: string): Promise<string> => {
    await page.setContent(`<h1>seen</h1>${html}`)
    return (await takeLook(page, {}, { timeout: 10_000 })).text
  }
  for (const [how, html] of Object.entries(HIDDEN)) {
    t.test(`left out: ${how}`, async (t) => {
      const text = await see(html)
      t.notMatch(text, /SECRET|\u{E0068}/u)
      t.match(text, 'seen')
    })
  }
  for (const [how, html] of Object.entries(SEEN)) {
    t.test(`kept: ${how}`, async (t) => {
      t.match(await see(html), 'SHOWN')
    })
  }
})
