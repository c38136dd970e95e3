import type { Browser, CDPSession, Page } from 'playwright-core'
import type { ServedDemo } from './serve-demo.ts'
import type { Shot } from './shots.ts'

const SIZES = { desktop: { width: 1_280, height: 800 }, phone: { width: 390, height: 844 } }
const COLORS = ['light', 'dark'] as const
/** Of WebP, in percent: below it the edges of small letters are blurred. */
const QUALITY = 80

/** Resolves once the page is drawn as it now has to be, with its images and without a caret. */
const DRAWN = `(async () => {
  document.activeElement?.blur()
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  // An image that a view has just replaced cannot be decoded.
  const decode = () => Promise.all([...document.images].map((image) => image.decode()))
  while (!(await decode().then(() => true, () => false))) await frame()
  await frame()
  await frame()
})()`

/** Signs in, and takes the pictures of a shot: the names of their files, and what is in them. */
export async function takePictures(
  browser: Browser,
  { page: address, token }: Pick<ServedDemo, 'page' | 'token'>,
  { view, name = view, path, prepare }: Shot
): Promise<[name: string, picture: Buffer][]> {
  const context = await browser.newContext({
    viewport: SIZES.desktop,
    reducedMotion: 'reduce',
    locale: 'en-GB'
  })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  await page.goto(`${address}#/${path}`)
  await page.getByLabel('Token').fill(token)
  await page.keyboard.press('Enter')
  await prepare(page)
  const session = await context.newCDPSession(page)
  const pictures: [string, Buffer][] = []
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport)
    for (const colorScheme of COLORS) {
      await page.emulateMedia({ colorScheme })
      pictures.push([`${name}-${size}-${colorScheme}.webp`, await capture(page, session)])
    }
  }
  await context.close()
  return pictures
}

async function capture(page: Page, session: CDPSession): Promise<Buffer> {
  await page.evaluate(DRAWN)
  const width = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  if (width > 0) throw new Error(`${page.url()} is ${width} pixels wider than its window`)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  return Buffer.from(data, 'base64')
}
