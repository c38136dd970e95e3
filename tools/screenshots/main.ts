import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { launchChromium } from '@tools/wires/chromium'
import { draw } from './drawings.ts'
import { makeContent } from './make-content.ts'
import { serveDemo } from './serve-demo.ts'
import { addShopAgents } from './shop-agents.ts'
import { listShots } from './shots.ts'
import { takePictures } from './take-pictures.ts'
import { readViewNames } from './view-names.ts'

// Pictures of all views of the console, for its README: light and dark, on a desktop and on a phone.
const FOLDER = resolve(import.meta.dirname, '../../packages/console/screenshots')

const browser = await launchChromium()
const drawings = await draw(browser)
const demo = await serveDemo()
addShopAgents(drawings)
const shots = listShots(await makeContent(demo), drawings)
const missing = readViewNames().filter((name) => shots.every(({ view }) => view !== name))
if (missing.length > 0) throw new Error(`Views without a picture, see shots.ts: ${missing.join(', ')}`)

const pictures = new Map<string, Buffer>()
for (const shot of shots)
  for (const [name, picture] of await takePictures(browser, demo, shot)) pictures.set(name, picture)
await rm(FOLDER, { recursive: true, force: true })
await mkdir(FOLDER, { recursive: true })
for (const [name, picture] of pictures) await writeFile(join(FOLDER, name), picture)
const bytes = [...pictures.values()].reduce((sum, { length }) => sum + length, 0)
console.log(`${pictures.size} pictures, ${(bytes / 1_000_000).toFixed(2)} MB, in ${FOLDER}`)
await browser.close()
await demo.close()
