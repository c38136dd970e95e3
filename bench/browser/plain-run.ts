import type { Browser, Page } from 'playwright-core'

/** What the shopper does, by plain Playwright: the same actions, with a snapshot after each, and no guard. */
export async function runPlain(browser: Browser, host: string): Promise<void> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`http://${host}/`)
  let seen = await look(page)
  const on = (role: string) => page.getByRef(refIn(seen, role))
  await on('textbox').pressSequentially('widget')
  seen = await look(page)
  await on('checkbox').check()
  seen = await look(page)
  await on('combobox').selectOption('price')
  seen = await look(page)
  await on('link').click()
  seen = await look(page)
  await look(page)
  await context.close()
}

async function look(page: Page): Promise<string> {
  return JSON.stringify(await page.ariaSnapshotJSON({ mode: 'ai', boxes: true }))
}

function refIn(seen: string, role: string): string {
  const ref = new RegExp(`"role":"${role}"[^{}]*?"ref":"(\\w+)"`).exec(seen)?.[1]
  if (ref === undefined) throw new Error(`there is no ${role} on the page`)
  return ref
}
