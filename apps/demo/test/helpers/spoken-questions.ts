const HELP = 'Hello! I answer questions about this service, calculate, and know the time.'

/** What is said in four calls to the phone of the demo, and the answers. */
export const CALLS: readonly (readonly (readonly [said: string, answer: string])[])[] = [
  [
    ['what is twelve times seven', '12 times 7 is 84.'],
    ['what is ten minus two', '10 minus 2 is 8.'],
    ['hello', HELP],
    ['what is fifty plus two', '50 plus 2 is 52.'],
    ['thank you', HELP],
    ['what is twenty divided by six', '20 divided by 6 is about 3.33.']
  ],
  [
    ['what is six plus seven', '6 plus 7 is 13.'],
    ['what did i ask before', 'You asked: what is 6 plus 7'],
    ['what is eleven minus seven', '11 minus 7 is 4.'],
    ['what is twenty divided by four', '20 divided by 4 is 5.'],
    ['what is ten times ten', '10 times 10 is 100.'],
    ['what is two plus twelve', '2 plus 12 is 14.']
  ],
  [
    ['good morning', HELP],
    ['what is fifty minus twenty', '50 minus 20 is 30.'],
    ['what is nine plus eight', '9 plus 8 is 17.'],
    ['what is eight times two', '8 times 2 is 16.'],
    ['what is twelve times eleven', '12 times 11 is 132.'],
    ['what is eleven plus ten', '11 plus 10 is 21.']
  ],
  [
    ['what is twenty percent of fifty', '20 divided by 100 times 50 is 10.'],
    ['what is two times nine', '2 times 9 is 18.'],
    ['what is twelve divided by two', '12 divided by 2 is 6.'],
    ['what can you do', HELP],
    ['what is eight plus twelve', '8 plus 12 is 20.'],
    ['what is nine minus three', '9 minus 3 is 6.']
  ]
]
