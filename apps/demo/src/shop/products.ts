import type { Product } from './catalogue.ts'

/** A product of one size. Prices are in cents. */
const simple = (
  name: string,
  category: string,
  price: number,
  stock: number,
  description: string
): Product => ({ id: toId(name), name, category, description, offers: [{ price, stock }] })

/** A product whose price depends on the size. */
const sized = (
  name: string,
  category: string,
  offers: Record<string, [price: number, stock: number]>,
  description: string
): Product => ({
  id: toId(name),
  name,
  category,
  description,
  offers: Object.entries(offers).map(([size, [price, stock]]) => ({ size, price, stock }))
})

const toId = (name: string) => name.toLowerCase().replaceAll(' ', '-')

/** What the demo's shop sells. */
export const PRODUCTS: readonly Product[] = [
  simple('Assam tea', 'Tea', 890, 14, 'A malty black tea from the Brahmaputra valley. 100 g.'),
  simple('Chamomile tea', 'Tea', 540, 30, 'Dried blossoms for the evening, without caffeine. 50 g.'),
  simple('Darjeeling tea', 'Tea', 1290, 8, 'First flush: light, flowery black tea. 100 g.'),
  simple('Earl Grey tea', 'Tea', 760, 21, 'Black tea with oil of bergamot. 100 g.'),
  simple('Fennel tea', 'Tea', 480, 17, 'Seeds for a mild herbal tea. 100 g.'),
  simple('Genmaicha tea', 'Tea', 990, 6, 'Green tea with roasted rice. 100 g.'),
  simple('Hibiscus tea', 'Tea', 590, 12, 'Red and sour, good with ice. 100 g.'),
  simple('Jasmine tea', 'Tea', 1090, 9, 'Green tea, scented with fresh blossoms. 100 g.'),
  simple('Lapsang tea', 'Tea', 1150, 3, 'Black tea, smoked over pine wood. 100 g.'),
  simple('Oolong tea', 'Tea', 1490, 5, 'Half fermented, from high gardens. 50 g.'),
  simple('Peppermint tea', 'Tea', 450, 40, 'Strong and fresh. 50 g.'),
  simple('Rooibos tea', 'Tea', 620, 26, 'From the Cape, without caffeine. 100 g.'),
  simple('Sencha tea', 'Tea', 1340, 0, 'Green tea of the first harvest. 100 g.'),
  simple('White peony tea', 'Tea', 1860, 4, 'Buds and young leaves, hardly processed. 50 g.'),
  simple('Cast iron kettle', 'Kitchen', 6400, 3, 'Holds 1.2 litres and keeps warm for an hour.'),
  simple('Enamel mug', 'Kitchen', 1150, 48, 'White with a blue rim, for the camp fire and the dishwasher.'),
  simple('Glass teapot', 'Kitchen', 3290, 7, 'Holds 1 litre, with a strainer of steel.'),
  simple('Folding lantern', 'Camping', 2750, 11, 'Burns 12 hours on one charge. IP 65.'),
  simple('Two person tent', 'Camping', 18900, 2, 'Weighs 1.9 kg and is up in five minutes.'),
  simple('Wool blanket', 'Camping', 5900, 10, 'Woven of pure new wool, 140 by 200 cm.'),
  simple('Book of knots', 'Books', 1650, 13, 'Forty knots, each drawn step by step. 128 pages.'),
  simple('Tea atlas', 'Books', 3900, 5, 'Gardens, harvests and routes on sixty maps. 240 pages.'),
  sized(
    'Rain jacket',
    'Clothes',
    { S: [8900, 4], M: [8900, 6], L: [9400, 2], XL: [9900, 0] },
    'Keeps out a whole day of rain, and folds into its own pocket.'
  ),
  sized(
    'Wool socks',
    'Clothes',
    { '36–39': [1450, 20], '40–43': [1450, 25], '44–47': [1690, 8] },
    'Of merino wool, with a padded sole.'
  ),
  sized(
    'Fisherman jumper',
    'Clothes',
    { S: [11900, 3], M: [11900, 3], L: [12500, 5] },
    'Knitted in one piece, of oiled wool.'
  )
]
