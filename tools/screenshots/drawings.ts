import type { Browser } from 'playwright-core'
import { pictureOf } from '../../apps/demo/src/shop/picture.ts'

/** PNG images that conversations have. */
export interface Drawings {
  /** A shelf of the shop. */
  readonly shelf: Buffer
  /** For how many days the stock lasts. */
  readonly chart: Buffer
}

const SHELF = ['sencha-tea', 'lapsang-tea', 'white-peony-tea', 'oolong-tea']
const DAYS: Readonly<Record<string, number>> = {
  Sencha: 0,
  Lapsang: 3,
  'White peony': 9,
  Oolong: 12
}
const WEEK = 7
const PIXELS_A_DAY = 14

/** Draws them with the browser that takes the pictures. */
export async function draw(browser: Browser): Promise<Drawings> {
  const page = await browser.newPage({ viewport: { width: 400, height: 200 } })
  const shoot = async (html: string) => {
    await page.setContent(html)
    return page.locator('main').screenshot()
  }
  const shelf = await shoot(SHELF_STYLE + `<main>${SHELF.map((id) => pictureOf(id, 'Tea')).join('')}</main>`)
  const chart = await shoot(CHART_STYLE + `<main>${Object.entries(DAYS).map(toBar).join('')}</main>`)
  await page.close()
  return { shelf, chart }
}

const SHELF_STYLE = `<style>
  body { margin: 0 }
  main { display: inline-flex; gap: 8px; padding: 8px 12px; background: #6d4f38; border-bottom: 5px solid #4a3424 }
  svg { width: 40px; height: 40px }
</style>`

const CHART_STYLE = `<style>
  body { margin: 0; font: 13px/1 system-ui, sans-serif }
  main { display: grid; grid-template-columns: auto auto; gap: 8px 12px; width: 360px; box-sizing: border-box; padding: 14px; white-space: nowrap; background: #fff; color: #1b1d21 }
  p { margin: 0 }
  span { display: inline-block; height: 12px; border-radius: 3px; vertical-align: -2px; margin-right: 6px }
</style>`

function toBar([tea, days]: [string, number]): string {
  const color = days < WEEK ? '#b3261e' : '#3a4fd0'
  const width = Math.max(2, days * PIXELS_A_DAY)
  return `<p>${tea}</p><p><span style="width: ${width}px; background: ${color}"></span>${days} days</p>`
}
