import { html, type Html } from './html.ts'

/** Drawings on a square of 96 by 96, by category. */
const DRAWINGS: Record<string, Html> = {
  Tea: html`<path d="M24 40h40v14a18 18 0 0 1-18 18h-4a18 18 0 0 1-18-18z" /><path
      class="line"
      d="M64 44h6a7 7 0 0 1 0 14h-7M36 32v-8M46 32v-8M56 32v-8"
    />`,
  Kitchen: html`<path d="M26 44h38l6 26H20z" /><path class="line" d="M33 44c0-20 24-20 24 0M66 50l12-8" />`,
  Camping: html`<path d="M48 24 80 74H16z" /><path class="hole" d="M48 48l12 26H36z" />`,
  Clothes: html`<path d="M34 24h28l18 16-9 11-7-6v31H32V45l-7 6-9-11z" />`,
  Books: html`<path
      d="M22 26c10-4 18-2 26 4v46c-8-6-16-8-26-4zM74 26c-10-4-18-2-26 4v46c8-6 16-8 26-4z"
    /><path class="line" d="M48 30v46" />`
}
/** Anything else, and the shop itself: a house. */
const HOUSE = html`<path d="M48 22 78 46v28H18V46z" /><path class="hole" d="M41 74V54h14v20z" />`

/** A drawing of a product as SVG, whose colour depends on its id. */
export function pictureOf(id: string, category: string): string {
  const hue = Buffer.from(id).reduce((sum, byte) => (sum * 31 + byte) % 360, 0)
  const [ground, ink] = [`hsl(${hue} 45% 90%)`, `hsl(${hue} 40% 38%)`]
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96" width="96" height="96">
    <style>
      path {
        fill: ${ink};
      }
      .hole {
        fill: ${ground};
      }
      .line {
        fill: none;
        stroke: ${ink};
        stroke-width: 3;
        stroke-linecap: round;
      }
    </style>
    <rect width="96" height="96" rx="8" fill="${ground}" />
    ${DRAWINGS[category] ?? HOUSE}
  </svg>`.text
}
