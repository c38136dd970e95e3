import type { Page } from 'playwright-core'

// Runs in the page.
const OPEN = `for (const details of document.querySelectorAll('details')) details.open = true
new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`

// Elements that only a hostile text could have brought.
const NEVER =
  'script:not([src]), iframe, frame, object, embed, base, style, math, template, form[action], meta[http-equiv], svg script, svg a, svg image, svg use[href^="http"], [srcdoc], [srcset]'

const INSPECT = `(() => {
  const wrong = []
  if ('pwned' in globalThis) wrong.push('code of the text ran')
  if (!/Console$/.test(document.title)) wrong.push('the title is ' + document.title.slice(0, 80))
  for (const found of document.querySelectorAll(${JSON.stringify(NEVER)})) wrong.push('there is ' + found.outerHTML.slice(0, 80))
  for (const found of document.querySelectorAll('body *')) {
    for (const { name, value } of found.attributes) {
      if (name.startsWith('on')) wrong.push('a handler: ' + found.outerHTML.slice(0, 80))
      if (name === 'src' && !value.startsWith('blob:')) wrong.push('a source: ' + value.slice(0, 80))
      if (name === 'href' && found.localName === 'a' && !/^(?:#|https?:|mailto:)/.test(value)) wrong.push('a link to ' + value.slice(0, 80))
    }
  }
  const { scrollWidth, clientWidth } = document.documentElement
  if (scrollWidth > clientWidth) wrong.push(scrollWidth + ' pixels wide')
  const { height } = document.querySelector('h1').getBoundingClientRect()
  if (height < 10 || height > 80) wrong.push('the heading is ' + height + ' pixels high')
  return wrong
})()`

/** What a hostile text has done to the page, with all details open; empty if all is well. */
export async function wrongWith(page: Page): Promise<string[]> {
  await page.evaluate(OPEN)
  return page.evaluate<string[]>(INSPECT)
}
