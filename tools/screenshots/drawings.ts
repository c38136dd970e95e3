import type { Browser } from 'playwright-core'

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
  const shelf = await shoot(SHELF_STYLE + `<main>${SHELF.map(toCup).join('')}</main>`)
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

// A cup whose colour depends on the tea.
function toCup(id: string): string {
  const hue = Buffer.from(id).reduce((sum, byte) => (sum * 31 + byte) % 360, 0)
  const ink = `hsl(${hue} 40% 38%)`
  return `<svg viewBox="0 0 96 96">
    <rect width="96" height="96" rx="8" fill="hsl(${hue} 45% 90%)" />
    <path d="M24 40h40v14a18 18 0 0 1-18 18h-4a18 18 0 0 1-18-18z" fill="${ink}" />
    <path d="M64 44h6a7 7 0 0 1 0 14h-7M36 32v-8M46 32v-8M56 32v-8" fill="none" stroke="${ink}" stroke-width="3" stroke-linecap="round" />
  </svg>`
}

function toBar([tea, days]: [string, number]): string {
  const color = days < WEEK ? '#b3261e' : '#3a4fd0'
  const width = Math.max(2, days * PIXELS_A_DAY)
  return `<p>${tea}</p><p><span style="width: ${width}px; background: ${color}"></span>${days} days</p>`
}
