// uPlot with its style sheet, as one lazy chunk.
import 'uplot/dist/uPlot.min.css'
export { default } from 'uplot'
